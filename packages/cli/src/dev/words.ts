/** Words for what happens: causes, times, log lines. */
import { parseJson } from "@keelson/core";
import type { ReconcileReport } from "@keelson/runtime/internal";

type Cause = ReconcileReport["causes"][number];

/** The object that is reconciled. */
interface Subject {
  readonly kind: string;
  readonly key: string;
}

/** `created`, `child Deployment changed`, `Secret default/key changed`, `time to look again`. */
export function causesText(causes: readonly Cause[], own: Subject): string {
  const unique = [...new Set(causes.map((cause) => causeText(cause, own)))];
  return unique.length > 3
    ? `${unique.slice(0, 3).join(", ")} and ${unique.length - 3} more`
    : unique.join(", ");
}

function causeText({ key, kind, type }: Cause, own: Subject): string {
  const name = kind?.split(".")[0] ?? "";
  // A child often has its owner's name.
  const what = key === undefined || key === own.key ? name : `${name} ${key}`;
  switch (type) {
    case "child":
      return `child ${what} changed`;
    case "read":
      return `${what} changed`;
    case "created":
    case "changed":
    case "deleted":
      return name === "" || name === own.kind ? type : `${what} ${type}`;
    case "timer":
      return "time to look again";
    case "retry":
      return "tried again";
    case "start":
      return "the operator started";
    case "resync":
      return "regular look";
    default:
      return `${type} ${what}`.trim();
  }
}

/** `340 ms`, `4.2 s`, `3 m`, `2 h`, `5 d` */
export function spanText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1_000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} m`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** `14:02:11` */
export function clockText(now: number): string {
  const date = new Date(now);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((each) => String(each).padStart(2, "0"))
    .join(":");
}

/** A line that the operator printed: its own log is JSON, what else is printed is text. */
export function logLine(line: string): { readonly level: string; readonly text: string } {
  if (!line.startsWith("{")) return { level: "", text: line };
  let fields: Record<string, unknown>;
  try {
    fields = parseJson(line) as Record<string, unknown>;
  } catch {
    return { level: "", text: line };
  }
  const { error, hostname: _host, level, msg, name: _name, pid: _pid, stack, time: _time, ...rest } = fields;
  if (typeof msg !== "string") return { level: "", text: line };
  const others = Object.entries(rest).map(
    ([key, value]) => `  ${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const sentence = error === undefined ? msg : `${msg}: ${String(error)}`;
  const place = typeof stack === "string" ? firstPlace(stack) : "";
  return { level: String(level), text: `${sentence}${others.join("")}${place}` };
}

/** The first place of a stack that is in nobody's package. */
function firstPlace(stack: string): string {
  const line = stack.split("\n").find((each) => /^\s+at /.test(each) && !/node:|node_modules/.test(each));
  const place = line && /(?:file:\/\/)?(\/[^\s()]+:\d+:\d+)/.exec(line)?.[1];
  return place ? `  at ${place}` : "";
}
