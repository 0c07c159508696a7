/** What is wrong with cron schedules and time zones, in the words of the parser that the real server uses. */
import { parseGoDuration } from "../go-duration.ts";
import { goQuote } from "../go-quote.ts";
import { type Bounds, bounds, descriptors } from "./cron-fields.ts";

const fields: readonly Bounds[] = [bounds.minute, bounds.hour, bounds.day, bounds.month, bounds.weekday];

/** What is wrong with a schedule; `undefined` when nothing is. */
export function scheduleProblem(text: string): string | undefined {
  if (text === "") return "empty spec string";
  let spec = text;
  if (spec.startsWith("TZ=") || spec.startsWith("CRON_TZ=")) {
    const space = spec.indexOf(" ");
    if (space < 0) return "invalid schedule format: runtime error: slice bounds out of range [:-1]";
    const zone = spec.slice(spec.indexOf("=") + 1, space);
    const problem = locationProblem(zone);
    if (problem) return `provided bad location ${zone}: ${problem}`;
    spec = spec.slice(space).trim();
  }
  if (spec.startsWith("@")) return descriptorProblem(spec);
  const parts = spec.trim().split(/\s+/).filter(Boolean);
  if (parts.length !== 5) return `expected exactly 5 fields, found ${parts.length}: [${parts.join(" ")}]`;
  for (const [i, part] of parts.entries())
    for (const range of part.split(",").filter(Boolean)) {
      const problem = rangeProblem(range, fields[i] as Bounds);
      if (problem) return problem;
    }
  return undefined;
}

function descriptorProblem(text: string): string | undefined {
  if (Object.hasOwn(descriptors, text)) return undefined;
  const every = "@every ";
  if (!text.startsWith(every)) return `unrecognized descriptor: ${text}`;
  const duration = text.slice(every.length);
  if (parseGoDuration(duration) !== undefined) return undefined;
  return `failed to parse duration ${text}: time: invalid duration ${goQuote(duration)}`;
}

type Parsed = { readonly value: number } | { readonly problem: string };

function parseNumber(text: string): Parsed {
  if (!/^[-+]?\d+$/.test(text))
    return {
      problem: `failed to parse int from ${text}: strconv.Atoi: parsing ${goQuote(text)}: invalid syntax`,
    };
  const value = Number(text);
  if (value < 0) return { problem: `negative number (${value}) not allowed: ${text}` };
  return { value };
}

function parseNamed(text: string, bounds: Bounds): Parsed {
  const named = bounds.names?.[text.toLowerCase()];
  return named === undefined ? parseNumber(text) : { value: named };
}

function rangeProblem(text: string, bounds: Bounds): string | undefined {
  const rangeAndStep = text.split("/");
  const lowAndHigh = (rangeAndStep[0] ?? "").split("-");
  const [low = "", high = ""] = lowAndHigh;
  let start: number;
  let end: number;
  if (low === "*" || low === "?") {
    start = bounds.min;
    end = bounds.max;
  } else {
    const first = parseNamed(low, bounds);
    if ("problem" in first) return first.problem;
    start = first.value;
    if (lowAndHigh.length > 2) return `too many hyphens: ${text}`;
    if (lowAndHigh.length === 2) {
      const last = parseNamed(high, bounds);
      if ("problem" in last) return last.problem;
      end = last.value;
    } else end = start;
  }
  let step = 1;
  if (rangeAndStep.length > 2) return `too many slashes: ${text}`;
  if (rangeAndStep.length === 2) {
    const parsed = parseNumber(rangeAndStep[1] ?? "");
    if ("problem" in parsed) return parsed.problem;
    step = parsed.value;
    if (lowAndHigh.length === 1 && low !== "*" && low !== "?") end = bounds.max;
  }
  if (start < bounds.min) return `beginning of range (${start}) below minimum (${bounds.min}): ${text}`;
  if (end > bounds.max) return `end of range (${end}) above maximum (${bounds.max}): ${text}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${text}`;
  if (step === 0) return `step of range should be a positive number: ${text}`;
  return undefined;
}

const zones = new Map<string, boolean>();

function isKnownZone(name: string): boolean {
  let known = zones.get(name);
  if (known === undefined) {
    try {
      new Intl.DateTimeFormat("en", { timeZone: name });
      known = true;
    } catch {
      known = false;
    }
    if (zones.size < 1000) zones.set(name, known);
  }
  return known;
}

function locationProblem(name: string): string | undefined {
  if (name === "" || name === "UTC" || name === "Local" || isKnownZone(name)) return undefined;
  if (name.includes("..") || name.startsWith("/") || name.includes("\\"))
    return "time: invalid location name";
  return `unknown time zone ${name}`;
}

const zoneCharacters = /^[A-Za-z.\-_0-9+]{1,14}$/;

/** What is wrong with the time zone of a schedule, in order. */
export function timeZoneProblems(name: string): string[] {
  if (name === "") return ["timeZone must be nil or non-empty string"];
  for (const part of name.split("/"))
    if (part === "." || part === ".." || part.startsWith("-") || !zoneCharacters.test(part))
      return [`unknown time zone ${name}`];
  const problems: string[] = [];
  if (name.toLowerCase() === "local")
    problems.push("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
  const unknown = name === "Local" ? undefined : locationProblem(name);
  if (unknown) problems.push(unknown);
  return problems;
}
