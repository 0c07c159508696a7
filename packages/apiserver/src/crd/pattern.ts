/** Patterns in RE2's syntax: matching takes time linear in the text, whatever a user writes. */
import { RE2JS } from "re2js";

const cache = new Map<string, RE2JS | Error>();
const maxCached = 1024;

function compile(pattern: string): RE2JS | Error {
  const known = cache.get(pattern);
  if (known) return known;
  let compiled: RE2JS | Error;
  try {
    compiled = RE2JS.compile(pattern);
  } catch (error) {
    compiled = error instanceof Error ? error : new Error(String(error));
  }
  if (cache.size >= maxCached) cache.delete(cache.keys().next().value as string);
  cache.set(pattern, compiled);
  return compiled;
}

/** What is wrong with a pattern; `undefined` when nothing is. */
export function patternError(pattern: string): string | undefined {
  const compiled = compile(pattern);
  return compiled instanceof Error ? compiled.message : undefined;
}

/** Whether the pattern occurs in the text. A pattern that does not compile matches nothing. */
export function matchesPattern(pattern: string, text: string): boolean {
  const compiled = compile(pattern);
  return compiled instanceof Error ? false : compiled.matcher(text).find();
}
