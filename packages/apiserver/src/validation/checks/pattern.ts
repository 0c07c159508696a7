/** Patterns in RE2's syntax: matching takes time linear in the text, whatever a user writes, and not too much of it. */
import { compilePattern, Fault, MatchBudget } from "@keelson/cel";

/** What is wrong with a pattern; `undefined` when nothing is. */
export function patternError(pattern: string): string | undefined {
  const compiled = compilePattern(pattern);
  return compiled instanceof Fault ? compiled.message : undefined;
}

/** What the patterns of one object may take together. */
const maxMs = 1000;

export function patternBudget(): MatchBudget {
  return new MatchBudget(maxMs);
}

/**
 * Whether the pattern occurs in the text; `undefined` when the budget is spent before that is known. A pattern that does
 * not compile matches nothing.
 */
export function matchesPattern(
  pattern: string,
  text: string,
  budget: MatchBudget = patternBudget(),
): boolean | undefined {
  const compiled = compilePattern(pattern);
  return compiled instanceof Fault ? false : budget.test(compiled, text);
}
