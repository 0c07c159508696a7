/** Which instances there should be, and which of them are counted on. */

export interface MembersView {
  readonly database: string;
  /** How many the spec asks for. */
  readonly wanted: number;
  /** Those that commits may wait for now; empty before the first pass. */
  readonly counted: readonly string[];
  /** Those that have a pod or a claim. */
  readonly existing: readonly string[];
  readonly primary: string | undefined;
  readonly streaming: readonly string[];
  /** Members of anything that the primary has published. */
  readonly promised: readonly string[];
  readonly initialised: boolean;
}

export interface Members {
  /** Those that have a claim and a pod. */
  readonly keep: readonly string[];
  /** Those that are counted on. */
  readonly count: readonly string[];
  /** Those that go now: nobody counts on them any more. */
  readonly remove: readonly string[];
}

export function planMembers(view: MembersView): Members {
  const { database, wanted, counted, existing, primary, streaming, promised } = view;
  const ordinal = (name: string) => Number(name.slice(database.length + 1));
  const inOrder = (names: Iterable<string>) => [...new Set(names)].sort((a, b) => ordinal(a) - ordinal(b));
  const first = Array.from({ length: wanted }, (_, index) => `${database}-${index}`);
  // Until there is data, nobody waits for anybody: all are members from the beginning. Where the record is lost, those with
  // a volume know what it was.
  if (!view.initialised) {
    const all = inOrder([...first, ...existing]);
    return { keep: all, count: all, remove: [] };
  }
  const known = inOrder([...counted, ...existing]);
  // The primary stays; of the others those that are counted on, then those with the lowest numbers.
  const rank = (name: string) => (name === primary ? 0 : counted.includes(name) ? 1 : 2);
  const kept = [...known].sort((a, b) => rank(a) - rank(b) || ordinal(a) - ordinal(b)).slice(0, wanted);
  for (let next = 0; kept.length < wanted; next++) {
    const name = `${database}-${next}`;
    if (!kept.includes(name) && !known.includes(name)) kept.push(name);
  }
  // A new one counts when it streams: before, commits would wait for it in vain.
  const count = inOrder(
    kept.filter((name) => counted.includes(name) || streaming.includes(name) || name === primary),
  );
  const leaving = known.filter((name) => !kept.includes(name));
  const remove = leaving.filter((name) => !counted.includes(name) && !promised.includes(name));
  return { keep: inOrder([...kept, ...leaving.filter((name) => !remove.includes(name))]), count, remove };
}
