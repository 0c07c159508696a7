/** Regular expressions in RE2's syntax, compiled once and kept. */
import { RE2JS } from "re2js";
import { type CelValue, type Fault, fault } from "./values.ts";

const cache = new Map<string, RE2JS | Fault>();
const maxCached = 512;

/** A fault when the pattern is not RE2. */
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
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (error instanceof Error) return fault(error.message);
    throw error;
  }
}

/** Whether the pattern occurs anywhere in the text. */
export function matches(text: string, pattern: string): CelValue {
  const compiled = compilePattern(pattern);
  return compiled instanceof RE2JS ? compiled.matcher(text).find() : compiled;
}
