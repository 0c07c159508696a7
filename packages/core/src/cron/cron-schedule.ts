/** Cron schedules of five fields, or by name, with the rules of the parser that Kubernetes uses. */

import { CoreError } from "../errors.ts";
import { parseGoDuration } from "../go-duration.ts";
import { type Bounds, bounds, descriptors } from "./cron-fields.ts";
import { scheduleProblem, timeZoneProblems } from "./schedule-problem.ts";
import { clockIn, type WallClock } from "./wall-clock.ts";

export interface CronSchedule {
  /** The first due time after this instant, in whole seconds; undefined when there is none within five years. */
  next(afterMs: number): number | undefined;
}

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** Reads a schedule. Throws a {@link CoreError} for what the API server would not admit. Default time zone: UTC. */
export function parseSchedule(text: string, timeZone?: string): CronSchedule {
  const problem = scheduleProblem(text);
  if (problem !== undefined) throw new CoreError("InvalidSchedule", problem);
  const { zone = timeZone, isPrefixed, spec } = splitZone(text);
  if (!isPrefixed && zone !== undefined) refuseUnknownZone(zone);
  if (spec.startsWith("@every "))
    return every(Number(parseGoDuration(spec.slice("@every ".length)) ?? 0n) / 1e6);
  return new FieldSchedule((descriptors[spec] ?? spec).split(/\s+/), clockIn(zone));
}

/** `TZ=Europe/Berlin 0 0 * * *` in its two parts, in one pass over the text. */
function splitZone(text: string): { zone?: string; isPrefixed: boolean; spec: string } {
  const named = /^(?:CRON_)?TZ=/.exec(text)?.[0].length;
  const end = named === undefined ? -1 : text.search(/\s/);
  if (end < 0) return { isPrefixed: false, spec: text.trim() };
  return { zone: text.slice(named, end), isPrefixed: true, spec: text.slice(end).trim() };
}

function refuseUnknownZone(zone: string): void {
  const [problem] = timeZoneProblems(zone);
  if (problem !== undefined) throw new CoreError("InvalidSchedule", problem);
}

/** A fixed distance, of at least a second, in whole seconds. */
function every(distanceMs: number): CronSchedule {
  const delayMs = Math.max(secondMs, Math.floor(distanceMs / secondMs) * secondMs);
  return { next: (afterMs) => Math.floor((afterMs + delayMs) / secondMs) * secondMs };
}

/** The values that a field allows. */
interface Field {
  readonly values: ReadonlySet<number>;
  /** Written with a star: then it does not choose, it only does not exclude. */
  readonly isAny: boolean;
}

function parseField(text: string, { min, max, names = {} }: Bounds): Field {
  const values = new Set<number>();
  let isAny = false;
  const numberOf = (word: string) => names[word.toLowerCase()] ?? Number(word);
  for (const range of text.split(",").filter(Boolean)) {
    const [span = "", stepText] = range.split("/");
    const [low = "", high] = span.split("-");
    const isStar = low === "*" || low === "?";
    const step = stepText === undefined ? 1 : Number(stepText);
    const start = isStar ? min : numberOf(low);
    const end = isStar || (high === undefined && stepText !== undefined) ? max : numberOf(high ?? low);
    if (isStar && step === 1) isAny = true;
    for (let value = start; value <= end; value += step) values.add(value);
  }
  return { values, isAny };
}

/** How far ahead a due time is looked for. */
const years = 5;

class FieldSchedule implements CronSchedule {
  readonly #clock: WallClock;
  readonly #minute: Field;
  readonly #hour: Field;
  readonly #day: Field;
  readonly #month: Field;
  readonly #weekday: Field;

  constructor(
    [minute = "*", hour = "*", day = "*", month = "*", weekday = "*"]: readonly string[],
    clock: WallClock,
  ) {
    this.#clock = clock;
    this.#minute = parseField(minute, bounds.minute);
    this.#hour = parseField(hour, bounds.hour);
    this.#day = parseField(day, bounds.day);
    this.#month = parseField(month, bounds.month);
    this.#weekday = parseField(weekday, bounds.weekday);
  }

  /**
   * Goes forward field by field, from the month down, and begins again when a larger field turns over. Hours and minutes
   * pass in real time, so that an hour that comes twice is due twice where every hour is.
   */
  next(afterMs: number): number | undefined {
    let at = Math.floor(afterMs / secondMs) * secondMs + secondMs;
    const lastYear = this.#wall(at).getUTCFullYear() + years;
    let isReset = false;
    const reset = (start: (wall: Date) => number) => {
      if (isReset) return;
      isReset = true;
      at = start(this.#wall(at));
    };
    const from = (year: number, month: number, day: number, hour = 0, minute = 0, second = 0) =>
      this.#clock.instantOf(Date.UTC(year, month, day, hour, minute, second));

    search: for (;;) {
      if (this.#wall(at).getUTCFullYear() > lastYear) return undefined;
      while (!this.#month.values.has(this.#wall(at).getUTCMonth() + 1)) {
        reset((wall) => from(wall.getUTCFullYear(), wall.getUTCMonth(), 1));
        const wall = this.#wall(at);
        at = from(
          wall.getUTCFullYear(),
          wall.getUTCMonth() + 1,
          wall.getUTCDate(),
          wall.getUTCHours(),
          wall.getUTCMinutes(),
          wall.getUTCSeconds(),
        );
        if (this.#wall(at).getUTCMonth() === 0) continue search;
      }
      while (!this.#isDay(this.#wall(at))) {
        reset((wall) => from(wall.getUTCFullYear(), wall.getUTCMonth(), wall.getUTCDate()));
        at = this.#nextDay(at);
        if (this.#wall(at).getUTCDate() === 1) continue search;
      }
      while (!this.#hour.values.has(this.#wall(at).getUTCHours())) {
        reset((wall) =>
          from(wall.getUTCFullYear(), wall.getUTCMonth(), wall.getUTCDate(), wall.getUTCHours()),
        );
        at += hourMs;
        if (this.#wall(at).getUTCHours() === 0) continue search;
      }
      while (!this.#minute.values.has(this.#wall(at).getUTCMinutes())) {
        reset(() => Math.floor(at / minuteMs) * minuteMs);
        at += minuteMs;
        if (this.#wall(at).getUTCMinutes() === 0) continue search;
      }
      while (this.#wall(at).getUTCSeconds() !== 0) {
        reset(() => at);
        at += secondMs;
        if (this.#wall(at).getUTCSeconds() === 0) continue search;
      }
      return at;
    }
  }

  /** Midnight of the next day, also where a change of the clock leaves out or repeats midnight. */
  #nextDay(at: number): number {
    const wall = this.#wall(at);
    const next = this.#clock.instantOf(
      Date.UTC(
        wall.getUTCFullYear(),
        wall.getUTCMonth(),
        wall.getUTCDate() + 1,
        wall.getUTCHours(),
        wall.getUTCMinutes(),
        wall.getUTCSeconds(),
      ),
    );
    const hour = this.#wall(next).getUTCHours();
    const midnight = hour === 0 ? next : next + (hour > 12 ? 24 - hour : -hour) * hourMs;
    // An island that moves across the date line leaves out a whole day.
    return midnight > at ? midnight : at + 24 * hourMs;
  }

  /** With a day of the month and a day of the week either will do, unless one of them is any. */
  #isDay(wall: Date): boolean {
    const isDate = this.#day.values.has(wall.getUTCDate());
    const isWeekday = this.#weekday.values.has(wall.getUTCDay());
    return this.#day.isAny || this.#weekday.isAny ? isDate && isWeekday : isDate || isWeekday;
  }

  #wall(at: number): Date {
    return new Date(this.#clock.shows(at));
  }
}
