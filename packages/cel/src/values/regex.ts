/** Regular expressions in RE2's syntax: compiled once and kept, matched in linear time and within bounds. */
import { RE2JS } from "re2js";
import { patternSize } from "./pattern-size.ts";
import { type Fault, fault } from "./values.ts";

const cache = new Map<string, RE2JS | Fault>();
const maxCached = 512;

/** Instructions of the largest pattern that is compiled; those that people write have some hundred. */
const maxSize = 20_000;

/** A fault when the pattern is not RE2, or too large. */
export function compilePattern(pattern: string): RE2JS | Fault {
  const known = cache.get(pattern);
  if (known !== undefined) return known;
  // Patterns can be data: keep the newest only.
  if (cache.size >= maxCached) cache.delete(cache.keys().next().value as string);
  const compiled = tryCompile(pattern);
  cache.set(pattern, compiled);
  return compiled;
}

function tryCompile(pattern: string): RE2JS | Fault {
  if (patternSize(pattern) > maxSize) return fault("error parsing regexp: expression too large");
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (error instanceof Error) return fault(error.message);
    throw error;
  }
}

/** Instructions times characters that are matched without looking at the clock first. */
const quickSteps = 1_000_000;
/** More of them take too long where a match's place is wanted, which needs the slower way. */
const mostSteps = 20_000_000;

/** Time that matches may take together. Linear time is long for a large pattern and a long text. */
export class MatchBudget {
  #remainingMs: number;

  constructor(totalMs: number) {
    this.#remainingMs = totalMs;
  }

  /** Whether the pattern occurs anywhere in the text; undefined when there is not enough time to find out. */
  test(pattern: RE2JS, text: string): boolean | undefined {
    let length = Math.max(1, Math.floor(quickSteps / pattern.programSize()));
    // How long it will take is learnt from beginnings of the text, each twice as long as the one before.
    for (; length < text.length; length *= 2) {
      const before = this.#remainingMs;
      this.#timed(() => pattern.test(text.slice(0, length)));
      if (2 * (before - this.#remainingMs) > this.#remainingMs) return undefined;
    }
    return this.#timed(() => pattern.test(text));
  }

  /** The matches, at most `limit` of them, all when negative; undefined when there is not enough time. */
  find(pattern: RE2JS, text: string, limit: number): string[] | undefined {
    if (pattern.programSize() * text.length > mostSteps) return undefined;
    const matcher = pattern.matcher(text);
    const found: string[] = [];
    while (limit < 0 || found.length < limit) {
      const more = this.#timed(() => matcher.find());
      if (more === undefined) return undefined;
      if (!more) break;
      found.push(matcher.group() ?? "");
    }
    return found;
  }

  #timed<T>(run: () => T): T | undefined {
    if (this.#remainingMs <= 0) return undefined;
    const began = performance.now();
    const result = run();
    this.#remainingMs -= performance.now() - began;
    return result;
  }
}
