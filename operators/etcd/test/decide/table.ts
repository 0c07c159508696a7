/** A table of decisions: one line for each observed state. */
import { describe, expect, it } from "vitest";
import type { Decision, Policy } from "../../src/decide/decision.ts";
import type { Observed } from "../../src/observe/observed.ts";

/**
 * What the state is; the state; the decision as `action Reason: message`, or undefined where the policy leaves the
 * decision to the next one; and more of the decision where its message does not say it.
 */
export type Row = readonly [string, Observed, string | undefined, object?];

export function decisions(title: string, policy: Policy, rows: readonly Row[]): void {
  describe(title, () => {
    for (const [state, observed, expected, details = {}] of rows) {
      it(state, () => {
        const decision = policy(observed);
        expect(textOf(decision)).toBe(expected);
        if (decision) expect(decision).toMatchObject(details);
      });
    }
  });
}

function textOf(decision: Decision | undefined): string | undefined {
  return decision && `${decision.do} ${decision.reason}: ${decision.message}`;
}
