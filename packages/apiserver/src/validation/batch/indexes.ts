/** Lists of completion indexes: `0,2-5`. */

interface Interval {
  readonly first: number;
  readonly last: number;
}

/** Throws an Error with the server's message. */
function parseInterval(text: string, completions: number): Interval {
  const limits = text.split("-");
  if (limits.length > 2)
    throw new Error(
      `the fragment ${JSON.stringify(text)} violates the requirement that an index interval can have at most two parts separated by '-'`,
    );
  const number = (part: string): number => {
    if (!/^[-+]?\d+$/.test(part))
      throw new Error(`cannot convert string to integer for index: ${JSON.stringify(part)}`);
    const value = Number(part);
    if (value >= completions) throw new Error(`too large index: ${JSON.stringify(part)}`);
    return value;
  };
  const first = number(limits[0] as string);
  if (limits.length === 1) return { first, last: first };
  const last = number(limits[1] as string);
  if (first >= last) throw new Error(`non-increasing order, previous: ${first}, current: ${last}`);
  return { first, last };
}

/** How many indexes, or what is wrong. */
export function countIndexes(text: string, completions: number): { total: number } | { problem: string } {
  if (text === "") return { total: 0 };
  let total = 0;
  let previous: number | undefined;
  try {
    for (const part of text.split(",")) {
      const { first, last } = parseInterval(part, completions);
      if (previous !== undefined && previous >= first)
        return { problem: `non-increasing order, previous: ${previous}, current: ${first}` };
      total += last - first + 1;
      previous = last;
    }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
  return { total };
}

function readable(text: string, completions: number): Interval[] {
  return text.split(",").flatMap((part) => {
    try {
      return [parseInterval(part, completions)];
    } catch {
      return [];
    }
  });
}

/** The first index in both lists; parts that cannot be read are passed over. */
export function overlap(completed: string, failed: string, completions: number): number | undefined {
  if (completed === "" || failed === "") return undefined;
  for (const a of readable(completed, completions))
    for (const b of readable(failed, completions))
      if (a.first <= b.last && b.first <= a.last) return Math.max(a.first, b.first);
  return undefined;
}
