/** Finds a key that an object of a JSON text has twice; the last one would win silently. */

/** The first key that stands twice in one object; undefined when there is none. The text must be valid JSON. */
export function duplicateKey(text: string): string | undefined {
  /** Keys of each open object; undefined for an open array. */
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === "{") open.push(new Set());
    else if (character === "[") open.push(undefined);
    else if (character === "}" || character === "]") open.pop();
    else if (character === '"') {
      const end = endOfString(text, at);
      if (/^\s*:/.test(text.slice(end, end + 64))) {
        const key = text.slice(at + 1, end - 1);
        const keys = open.at(-1);
        if (keys?.has(key)) return key;
        keys?.add(key);
      }
      at = end - 1;
    }
  }
  return undefined;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}
