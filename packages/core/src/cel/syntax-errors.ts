/** Says what is wrong with tokens that form no expression. */
import type { CelIssues } from "./errors.ts";
import type { Token } from "./lexer.ts";
import type { Source } from "./source.ts";

/** Reports at least one issue. */
export function explainSyntaxErrors(source: Source, tokens: readonly Token[], issues: CelIssues): void {
  const last = tokens[tokens.length - 1] as Token;
  issues.report(source.location(last.start), `Syntax error: mismatched input '${last.text}'`);
}
