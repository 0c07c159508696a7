/** Random strings that a zod string schema allows: by length, by format, by pattern. */
import type { Random } from "@keelson/core";
import type { z } from "zod";
import { SchemaError } from "./errors.ts";

type Schema = z.core.$ZodTypes;

const FORMATS: Readonly<Record<string, readonly string[]>> = {
  datetime: ["2026-01-02T03:04:05Z", "1999-12-31T23:59:59Z"],
  date: ["2026-01-02", "1999-12-31"],
  uuid: ["0b8f0f7e-6a5d-4c1b-9c55-2f5d1f0c9a11"],
  guid: ["0b8f0f7e-6a5d-4c1b-9c55-2f5d1f0c9a11"],
  email: ["someone@example.com"],
  url: ["https://example.com/path"],
  ipv4: ["10.0.0.1", "192.168.7.9"],
  ipv6: ["2001:db8::1"],
  cidrv4: ["10.0.0.0/8"],
  cidrv6: ["2001:db8::/32"],
  base64: ["aGVsbG8=", ""],
};

const LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";

export function sampleString(schema: Schema, path: string, random: Random): string {
  const shortEnough = (text: string) => (schema as unknown as z.ZodType).safeParse(text).success;
  const checks = [
    schema as unknown as z.core.$ZodCheck,
    ...((schema._zod.def as { checks?: readonly z.core.$ZodCheck[] }).checks ?? []),
  ].map(
    (check) => check._zod.def as unknown as { check?: string; format?: string; pattern?: RegExp } & Bounds,
  );
  for (const { check, format = "", pattern } of checks) {
    if (check !== "string_format") continue;
    const known = FORMATS[format];
    if (known) return known[Math.floor(random.next() * known.length)] as string;
    if (!pattern) continue;
    for (let tries = 0; tries < 50; tries++) {
      const text = new PatternSampler(pattern.source, random).sample();
      if (text !== undefined && shortEnough(text)) return text;
    }
    throw new SchemaError(
      "NoSample",
      path,
      `no text was found that matches ${pattern}; name some: strings: { "${path}": ["…"] }`,
    );
  }
  const [least, most] = boundsOf(checks);
  const length = least + Math.floor(random.next() * (most - least + 1));
  return Array.from({ length }, () => LETTERS[Math.floor(random.next() * LETTERS.length)]).join("");
}

interface Bounds {
  check?: string;
  minimum?: number;
  maximum?: number;
  length?: number;
}

function boundsOf(checks: readonly Bounds[]): [number, number] {
  let [least, most] = [0, 12];
  for (const { check, minimum, maximum, length } of checks) {
    if (check === "min_length") least = minimum as number;
    if (check === "max_length") most = Math.min(most, maximum as number);
    if (check === "length_equals") [least, most] = [length as number, length as number];
  }
  return [least, Math.max(least, most)];
}

/** Walks a pattern and writes down one text of it. What it does not know gives up: the caller tries again or says so. */
class PatternSampler {
  readonly #source: string;
  readonly #random: Random;
  #at = 0;

  constructor(source: string, random: Random) {
    this.#source = source;
    this.#random = random;
  }

  sample(): string | undefined {
    const text = this.#alternatives();
    return this.#at === this.#source.length ? text : undefined;
  }

  #alternatives(): string | undefined {
    const options = [this.#sequence()];
    while (this.#source[this.#at] === "|") {
      this.#at++;
      options.push(this.#sequence());
    }
    return options[Math.floor(this.#random.next() * options.length)];
  }

  #sequence(): string | undefined {
    let out = "";
    while (this.#at < this.#source.length && !"|)".includes(this.#source[this.#at] as string)) {
      const from = this.#at;
      const first = this.#atom();
      const atomEnd = this.#at;
      const count = this.#quantifier();
      const end = this.#at;
      for (let i = 0; i < count; i++) {
        this.#at = from;
        const again = i === 0 ? first : this.#atom();
        if (again === undefined) return undefined;
        out += again;
      }
      this.#at = Math.max(end, atomEnd);
      if (first === undefined) return undefined;
    }
    return out;
  }

  #atom(): string | undefined {
    const char = this.#source[this.#at++];
    if (char === "^" || char === "$") return "";
    if (char === ".") return this.#oneOf(LETTERS);
    if (char === "\\") return this.#escape();
    if (char === "[") return this.#set();
    if (char !== "(") return char;
    if (this.#source[this.#at] === "?") {
      if (this.#source[this.#at + 1] !== ":") return undefined;
      this.#at += 2;
    }
    const inner = this.#alternatives();
    return this.#source[this.#at++] === ")" ? inner : undefined;
  }

  #quantifier(): number {
    const char = this.#source[this.#at];
    const draw = (least: number, most: number) =>
      least + Math.floor(this.#random.next() * (most - least + 1));
    if (char === "?" || char === "*" || char === "+") {
      this.#at++;
      return char === "?" ? draw(0, 1) : draw(char === "+" ? 1 : 0, 3);
    }
    const braces = /^\{(\d+)(?:,(\d*))?\}/.exec(this.#source.slice(this.#at));
    if (!braces) return 1;
    this.#at += braces[0].length;
    const least = Number(braces[1]);
    if (!braces[0].includes(",")) return least;
    return draw(least, braces[2] ? Math.min(Number(braces[2]), least + 4) : least + 3);
  }

  #escape(): string | undefined {
    const char = this.#source[this.#at++] ?? "";
    const set = classes[char];
    if (set !== undefined) return this.#oneOf(set);
    return /[a-zA-Z0-9]/.test(char) ? undefined : char;
  }

  #set(): string | undefined {
    if (this.#source[this.#at] === "^") return undefined;
    let allowed = "";
    for (;;) {
      const char = this.#source[this.#at++];
      if (char === undefined) return undefined;
      if (char === "]") break;
      const low = char === "\\" ? (this.#source[this.#at++] ?? "") : char;
      const set = char === "\\" ? classes[low] : undefined;
      if (set !== undefined) {
        allowed += set;
        continue;
      }
      const high = this.#source[this.#at + 1];
      if (this.#source[this.#at] === "-" && high !== undefined && high !== "]") {
        this.#at += 2;
        for (let code = low.charCodeAt(0); code <= high.charCodeAt(0); code++) {
          allowed += String.fromCharCode(code);
        }
      } else allowed += low;
    }
    return this.#oneOf(allowed);
  }

  #oneOf(characters: string): string {
    return characters[Math.floor(this.#random.next() * characters.length)] ?? "";
  }
}

const classes: Readonly<Record<string, string>> = { d: "0123456789", w: `${LETTERS}_`, s: " " };
