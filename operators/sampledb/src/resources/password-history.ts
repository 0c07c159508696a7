/** Which passwords of a user are valid: the newest, and those before it while clients may still have them. Pure. */

/** Digests of one user's passwords. */
export interface PasswordHistory {
  readonly current: string;
  /** Newest first, each with the moment at which another took its place. */
  readonly earlier: readonly { readonly digest: string; readonly since: string }[];
}

/** As it is stored. Earlier releases kept one password beside the current one. */
export interface StoredHistory {
  readonly current: string;
  readonly earlier?: PasswordHistory["earlier"];
  readonly previous?: string;
  readonly since?: string;
}

/** More rotations than this within the overlap end the oldest password early: a server holds all of them. */
const mostEarlier = 8;

/** The history once `digest` is the password that holds. Each earlier one goes when its own time is over. */
export function turned(
  before: StoredHistory | undefined,
  digest: string,
  { nowMs, overlapMs }: { readonly nowMs: number; readonly overlapMs: number },
): PasswordHistory {
  if (!before) return { current: digest, earlier: [] };
  const known = read(before);
  const replaced =
    known.current === digest ? [] : [{ digest: known.current, since: new Date(nowMs).toISOString() }];
  const earlier = [...replaced, ...known.earlier].filter(
    (each) => each.digest !== digest && nowMs - Date.parse(each.since) < overlapMs,
  );
  return { current: digest, earlier: earlier.slice(0, mostEarlier) };
}

function read({ current, earlier, previous, since }: StoredHistory): PasswordHistory {
  if (earlier) return { current, earlier };
  return { current, earlier: previous && since ? [{ digest: previous, since }] : [] };
}

export function validDigests({ current, earlier }: PasswordHistory): readonly string[] {
  return [current, ...earlier.map(({ digest }) => digest)];
}

/** How long until the next earlier password ends; undefined when there is none. */
export function endsInMs(
  { earlier }: PasswordHistory,
  { nowMs, overlapMs }: { readonly nowMs: number; readonly overlapMs: number },
): number | undefined {
  const oldest = earlier.at(-1);
  return oldest && Math.max(1_000, Date.parse(oldest.since) + overlapMs - nowMs);
}
