/** The live view of `keelson dev`: a board as lines that fit a terminal. Pure, so that a test can read it. */
import type { Board } from "./board.ts";
import { type Paint, truncate, wrap } from "./paint.ts";
import { placeLines } from "./plain.ts";
import { type Frame, logLines, reconcileLines, resourceLines } from "./tables.ts";
import { spanText } from "./words.ts";

export function view(board: Board, frame: Frame): string[] {
  const head = header(board, frame);
  const problems = problemLines(board, frame);
  const foot = [frame.paint.dim(truncate(` ${frame.keys}`, frame.columns))];
  const free = frame.rows - head.length - problems.length - foot.length;
  const body = [...head, ...problems, ...(free < 4 ? [] : middle(board, frame, free))];
  const blank = Math.max(0, frame.rows - body.length - foot.length);
  return [...body, ...Array.from({ length: blank }, () => ""), ...foot].slice(0, frame.rows);
}

function header(board: Board, { columns, now, paint }: Frame): string[] {
  const title = `${paint.bold(` ${board.name || "keelson dev"}`)}  ${operatorState(board, now, paint)}`;
  const parts = [clusterState(board), typesState(board, paint)];
  if (board.webhooks > 0) parts.push(`${board.webhooks} webhook${board.webhooks === 1 ? "" : "s"} served`);
  const kubeconfig = board.cluster
    ? [paint.dim(truncate(` KUBECONFIG=${board.cluster.kubeconfig}`, columns))]
    : [];
  return [
    truncate(title, columns),
    truncate(` ${parts.filter(Boolean).join(paint.dim("  ·  "))}`, columns),
    ...kubeconfig,
    "",
  ];
}

function operatorState({ goesOn, load, phase, progress }: Board, now: number, paint: Paint): string {
  if (phase === "broken") return paint.red(`● cannot be loaded${goesOn ? "; the last version goes on" : ""}`);
  if (phase === "ended") return paint.red("● ended; it starts again when a file is saved");
  if (phase === "starting") return paint.yellow(`● ${progress || (load ? "reloading" : "starting")}`);
  if (!load) return paint.green("● working");
  const what =
    load.files.length === 0 ? `started in ${spanText(load.ms)}` : `reloaded in ${spanText(load.ms)}`;
  const files =
    load.files.length === 0
      ? ""
      : ` ${load.files[0]}${load.files.length > 1 ? ` and ${load.files.length - 1} more` : ""}`;
  return `${paint.green("● working")}  ${paint.dim(`${what}, ${spanText(now - load.at)} ago${files}`)}`;
}

function clusterState({ cluster }: Board): string {
  if (!cluster) return "no cluster yet";
  const pods = cluster.pods === "none" ? "no nodes" : `${cluster.pods} pods`;
  return `cluster ${cluster.name} at ${cluster.server}, ${pods}`;
}

function typesState({ diagnostics, types }: Board, paint: Paint): string {
  if (types === "unknown") return "";
  if (diagnostics.length > 0) {
    return paint.red(`${diagnostics.length} type error${diagnostics.length === 1 ? "" : "s"}`);
  }
  return types === "checking" ? paint.dim("checking types") : paint.green("types ok");
}

/** What is wrong with the code comes first, and never takes more than half of the screen. */
function problemLines(board: Board, { columns, paint, rows }: Frame): string[] {
  const lines: string[] = [];
  if (board.phase === "broken" || board.phase === "ended") {
    // The sentence says at its end what to do; places of a stack are indented.
    const sentences = board.problem
      .split("\n")
      .flatMap((line) => (line.startsWith(" ") ? truncate(line, columns - 1) : wrap(line, columns - 1, 4)));
    lines.push(...sentences.map((line) => paint.red(` ${line}`)), "");
  }
  for (const each of board.diagnostics) {
    const sentences = placeLines(each).flatMap((line) => wrap(line, columns - 1, 2));
    lines.push(...sentences.map((line) => paint.red(` ${line}`)));
    for (const line of each.frame) {
      const text = truncate(`   ${line}`, columns);
      lines.push(line.startsWith(">") ? text : paint.dim(text));
    }
    lines.push("");
  }
  const most = Math.floor(rows / 2);
  return lines.length <= most ? lines : [...lines.slice(0, most - 1), paint.dim(" …")];
}

/** Resources take what they need up to half, then the log a third of the rest, then reconciles. */
function middle(board: Board, frame: Frame, free: number): string[] {
  const { paint } = frame;
  const resources = resourceLines(board, frame);
  const forResources = Math.min(resources.length, Math.max(3, Math.floor(free / 2)));
  const rest = free - forResources - 1;
  const forLog = board.log.length === 0 ? 0 : Math.min(board.log.length + 2, Math.floor(rest / 3));
  const log = forLog < 3 ? [] : ["", ...logLines(board, frame, forLog - 2)];
  return [
    ...cut(resources, forResources, paint),
    "",
    ...reconcileLines(board, frame, rest - log.length - 1),
    ...log,
  ];
}

function cut(lines: readonly string[], rows: number, paint: Paint): string[] {
  if (lines.length <= rows) return [...lines];
  return [...lines.slice(0, rows - 1), paint.dim(` … ${lines.length - rows + 1} more lines`)];
}
