/** Merges two changes of one text, line by line, as diff3 does. */

/** A merged text; where both sides changed the same lines in different ways, marks stand around them. */
export interface MergedText {
  readonly text: string;
  readonly conflicts: number;
}

/** What stands in the marks. */
export interface MergeLabels {
  readonly ours: string;
  readonly theirs: string;
}

export function mergeText(base: string, ours: string, theirs: string, labels: MergeLabels): MergedText {
  if (ours === theirs || base === theirs) return { text: ours, conflicts: 0 };
  if (base === ours) return { text: theirs, conflicts: 0 };
  const [old, mine, other] = [base, ours, theirs].map(linesOf) as [string[], string[], string[]];
  const toMine = matches(old, mine);
  const toOther = matches(old, other);
  const merged: string[] = [];
  let conflicts = 0;
  const at = { base: 0, ours: 0, theirs: 0 };
  /** Takes everything up to the next line that all three have. */
  const settle = (end: { base: number; ours: number; theirs: number }) => {
    const was = old.slice(at.base, end.base);
    const us = mine.slice(at.ours, end.ours);
    const them = other.slice(at.theirs, end.theirs);
    if (same(us, them) || same(was, them)) merged.push(...us);
    else if (same(was, us)) merged.push(...them);
    else {
      conflicts++;
      merged.push(
        `<<<<<<< ${labels.ours}\n`,
        ...closed(us),
        "=======\n",
        ...closed(them),
        `>>>>>>> ${labels.theirs}\n`,
      );
    }
  };
  for (let index = 0; index < old.length; index++) {
    const inOurs = toMine.get(index);
    const inTheirs = toOther.get(index);
    if (inOurs === undefined || inTheirs === undefined) continue;
    settle({ base: index, ours: inOurs, theirs: inTheirs });
    merged.push(old[index] ?? "");
    Object.assign(at, { base: index + 1, ours: inOurs + 1, theirs: inTheirs + 1 });
  }
  settle({ base: old.length, ours: mine.length, theirs: other.length });
  return { text: merged.join(""), conflicts };
}

/** Each with its line end. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** A mark begins on a line of its own. */
function closed(lines: readonly string[]): string[] {
  return lines.map((line) => (line.endsWith("\n") ? line : `${line}\n`));
}

function same(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((line, index) => line === other[index]);
}

/** Which line of the other text each line is, by a longest common subsequence. */
function matches(one: readonly string[], other: readonly string[]): Map<number, number> {
  const width = other.length + 1;
  const lengths = new Uint32Array((one.length + 1) * width);
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        one[i] === other[j]
          ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
    }
  }
  const found = new Map<number, number>();
  for (let i = 0, j = 0; i < one.length && j < other.length; ) {
    if (one[i] === other[j]) found.set(i++, j++);
    else if ((lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)) i++;
    else j++;
  }
  return found;
}
