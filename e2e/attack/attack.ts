/** What an attack is, and what comes of it. */

/** Something that must not be possible. */
export interface Attack<Target> {
  readonly id: string;
  /** What the attacker does. */
  readonly tries: string;
  /** Resolves with what the attacker got, or undefined when there was nothing to get. Rejects when it could not be tried. */
  readonly run: (target: Target) => Promise<string | undefined>;
}

export type Outcome = "blocked" | "vulnerable" | "not tried";

export interface Result {
  readonly group: string;
  readonly id: string;
  readonly tries: string;
  readonly outcome: Outcome;
  readonly detail: string;
}

/** Tries all attacks of a group, one after the other. */
export async function tryAll<Target>(
  group: string,
  target: Target,
  attacks: readonly Attack<Target>[],
  tell: (result: Result) => void,
): Promise<void> {
  for (const { id, tries, run } of attacks) {
    let [outcome, detail]: [Outcome, string] = ["blocked", ""];
    try {
      const got = await run(target);
      if (got !== undefined) [outcome, detail] = ["vulnerable", got];
    } catch (error) {
      [outcome, detail] = ["not tried", error instanceof Error ? error.message : String(error)];
    }
    tell({ group, id, tries, outcome, detail });
  }
}
