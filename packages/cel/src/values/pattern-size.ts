/** How large a regular expression becomes when it is compiled: repetitions are written out. */

/** About its number of instructions, from above. What is no valid pattern has some size, too. */
export function patternSize(pattern: string): number {
  /** Sizes of the groups that are open, outermost first. */
  const groups = [0];
  let last = 0;
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at];
    if (char === "(") {
      groups.push(0);
      last = 0;
    } else if (char === ")") {
      last = (groups.length > 1 ? (groups.pop() as number) : 0) + 2;
      groups[groups.length - 1] = (groups.at(-1) as number) + last;
    } else if (char === "{") {
      const repeat = /^\{(\d{1,9})(?:,(\d{0,9}))?\}/.exec(pattern.slice(at, at + 24));
      const times = repeat ? Math.max(Number(repeat[1]), Number(repeat[2] ?? 0)) + 1 : 1;
      groups[groups.length - 1] = (groups.at(-1) as number) + last * (times - 1) + 1;
      last *= times;
      if (repeat) at += repeat[0].length - 1;
    } else {
      if (char === "\\") at = endOfEscape(pattern, at);
      else if (char === "[") at = endOfClass(pattern, at);
      last = 1;
      groups[groups.length - 1] = (groups.at(-1) as number) + 1;
    }
  }
  return groups.reduce((sum, size) => sum + size, 0);
}

/** The last character of `\d`, `\pL`, `\p{Greek}`, `\Q…\E`. */
function endOfEscape(pattern: string, at: number): number {
  const kind = pattern[at + 1];
  if ((kind === "p" || kind === "P" || kind === "x") && pattern[at + 2] === "{") {
    const close = pattern.indexOf("}", at);
    return close < 0 ? pattern.length : close;
  }
  return at + 1;
}

/** The closing bracket, which may be the first character of a class. */
function endOfClass(pattern: string, at: number): number {
  let i = pattern[at + 1] === "^" ? at + 2 : at + 1;
  if (pattern[i] === "]") i++;
  for (; i < pattern.length; i++) {
    if (pattern[i] === "\\") i++;
    else if (pattern[i] === "[" && pattern[i + 1] === ":") i = Math.max(i, pattern.indexOf(":]", i + 2) + 1);
    else if (pattern[i] === "]") return i;
  }
  return pattern.length;
}
