/** Clocks on walls: what they show in a time zone, and when they show it. */

/** A time of day and a date without a zone, kept as the instant at which UTC shows it. */
export type WallMs = number;

/** Clocks change on the quarter of an hour, if at all. */
const quarterMs = 900_000;
const rememberedQuarters = 10_000;

export class WallClock {
  readonly #format: Intl.DateTimeFormat | undefined;
  /** Offsets by quarter of an hour: asking the platform is a thousand times as slow. */
  readonly #offsets = new Map<number, number>();

  /** UTC unless a zone is given. Throws for a zone that nobody knows. */
  constructor(timeZone = "UTC") {
    if (timeZone === "UTC" || timeZone === "" || timeZone === "Local") return;
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  }

  /** How far the clock is ahead of UTC at an instant. */
  offsetMs(instantMs: number): number {
    if (!this.#format) return 0;
    const quarter = Math.floor(instantMs / quarterMs);
    let offset = this.#offsets.get(quarter);
    if (offset === undefined) {
      offset = this.#ask(this.#format, quarter * quarterMs);
      if (this.#offsets.size >= rememberedQuarters) this.#offsets.clear();
      this.#offsets.set(quarter, offset);
    }
    return offset;
  }

  #ask(format: Intl.DateTimeFormat, instantMs: number): number {
    const parts: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(instantMs)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - instantMs;
  }

  /** What the clock shows at an instant. */
  shows(instantMs: number): WallMs {
    return instantMs + this.offsetMs(instantMs);
  }

  /**
   * An instant at which the clock shows this. Of two it is the first; where the clock jumps over it, the instant is as
   * far before the jump as the time is beyond it, or after it, as Go has it.
   */
  instantOf(wallMs: WallMs): number {
    const guess = this.offsetMs(wallMs);
    return guess === 0 ? wallMs : wallMs - this.offsetMs(wallMs - guess);
  }
}

const clocks = new Map<string, WallClock>();

/** The clock of a zone; UTC unless one is given. */
export function clockIn(timeZone = "UTC"): WallClock {
  let clock = clocks.get(timeZone);
  if (!clock) {
    clock = new WallClock(timeZone);
    clocks.set(timeZone, clock);
  }
  return clock;
}
