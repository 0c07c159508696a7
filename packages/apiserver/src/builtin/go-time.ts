/** Reads times as Go's time.Parse reads them, and says what is wrong in its words. */

interface Element {
  readonly layout: string;
  /** Reads its part off the front of `rest`; `undefined` when it does not fit. */
  read(rest: string, fields: TimeFields): string | undefined;
}

interface TimeFields {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  micros: number;
  offsetMinutes: number;
  /** What was read but cannot be: `month`. */
  outOfRange?: string;
}

export class TimeSyntaxError extends Error {}

const year: Element = {
  layout: "2006",
  read(rest, fields) {
    if (!/^\d{4}/.test(rest)) return undefined;
    fields.year = Number(rest.slice(0, 4));
    return rest.slice(4);
  },
};

function digits(
  layout: string,
  name: "month" | "day" | "hour" | "minute" | "second",
  range: readonly [number, number],
  pattern = /^\d\d/,
): Element {
  return {
    layout,
    read(rest, fields) {
      const match = pattern.exec(rest);
      if (!match) return undefined;
      fields[name] = Number(match[0]);
      if (fields[name] < range[0] || fields[name] > range[1]) fields.outOfRange = name;
      return rest.slice(match[0].length);
    },
  };
}

function literal(text: string): Element {
  return { layout: text, read: (rest) => (rest.startsWith(text) ? rest.slice(text.length) : undefined) };
}

/** Seconds may be followed by a fraction that the layout does not mention. */
const secondsAndFraction: Element = {
  layout: "05",
  read(rest, fields) {
    const after = seconds.read(rest, fields);
    const fraction = after === undefined ? undefined : /^[.,](\d+)/.exec(after);
    if (!fraction || after === undefined) return after;
    fields.micros = Number((fraction[1] as string).slice(0, 6).padEnd(6, "0"));
    return after.slice(fraction[0].length);
  },
};

const seconds = digits("05", "second", [0, 59]);

const micros: Element = {
  layout: ".000000",
  read(rest, fields) {
    const match = /^[.,](\d{6})/.exec(rest);
    if (!match) return undefined;
    fields.micros = Number(match[1]);
    return rest.slice(7);
  },
};

const zone: Element = {
  layout: "Z07:00",
  read(rest, fields) {
    if (rest.startsWith("Z")) return rest.slice(1);
    const match = /^([+-])(\d\d):(\d\d)/.exec(rest);
    if (!match) return undefined;
    const [all, sign, hours, minutes] = match;
    if (Number(hours) > 24) fields.outOfRange = "time zone offset hour";
    else if (Number(minutes) > 60) fields.outOfRange = "time zone offset minute";
    fields.offsetMinutes = (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
    return rest.slice(all.length);
  },
};

const dateAndTime = [
  year,
  literal("-"),
  digits("01", "month", [1, 12]),
  literal("-"),
  // Whether the month has such a day is seen at the end.
  digits("02", "day", [0, 99]),
  literal("T"),
  digits("15", "hour", [0, 23], /^\d\d?/),
  literal(":"),
  digits("04", "minute", [0, 59]),
  literal(":"),
];
const layouts = {
  time: { text: "2006-01-02T15:04:05Z07:00", elements: [...dateAndTime, secondsAndFraction, zone] },
  microtime: { text: "2006-01-02T15:04:05.000000Z07:00", elements: [...dateAndTime, seconds, micros, zone] },
};

/**
 * The time in UTC, with seconds or with microseconds, as the server prints it. Throws a TimeSyntaxError for what
 * Go does not read.
 */
export function readTime(value: string, precision: "time" | "microtime"): string {
  const { text, elements } = layouts[precision];
  const fields = { year: 0, month: 1, day: 1, hour: 0, minute: 0, second: 0, micros: 0, offsetMinutes: 0 };
  const refuse = (why: string) => new TimeSyntaxError(`parsing time ${JSON.stringify(value)}${why}`);
  let rest = value;
  for (const element of elements) {
    const after = element.read(rest, fields);
    const { outOfRange } = fields as TimeFields;
    if (outOfRange) throw refuse(`: ${outOfRange} out of range`);
    if (after === undefined)
      throw refuse(
        ` as ${JSON.stringify(text)}: cannot parse ${JSON.stringify(rest)} as ${JSON.stringify(element.layout)}`,
      );
    rest = after;
  }
  if (rest !== "") throw refuse(`: extra text: ${JSON.stringify(rest)}`);
  const lastDay = new Date(Date.UTC(fields.year, fields.month, 0)).getUTCDate();
  if (fields.day < 1 || fields.day > lastDay) throw refuse(": day out of range");
  const { month, day, hour, minute, second, offsetMinutes } = fields;
  const date = new Date(0);
  date.setUTCFullYear(fields.year, month - 1, day);
  date.setUTCHours(hour, minute - offsetMinutes, second);
  const seconds19 = date.toISOString().slice(0, 19);
  return precision === "time" ? `${seconds19}Z` : `${seconds19}.${String(fields.micros).padStart(6, "0")}Z`;
}
