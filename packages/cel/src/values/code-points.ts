/** Strings counted in code points, at the speed of UTF-16 where the two agree. */
import { effort } from "./effort.ts";

const surrogate = /[\ud800-\udfff]/;

/** The last long strings looked at: a rule in a loop asks for the same one again and again. */
const remembered: { text: string; plain: boolean; length: number }[] = [];
const worthRemembering = 256;

function look(text: string): { plain: boolean; length: number } {
  const known = remembered.find((entry) => entry.text === text);
  if (known !== undefined) return known;
  effort.steps += text.length >> 4;
  const entry = { text, plain: !surrogate.test(text), length: text.length };
  if (!entry.plain)
    for (const pair of text.matchAll(/[\ud800-\udbff][\udc00-\udfff]/g)) entry.length -= pair.length;
  remembered.unshift(entry);
  remembered.length = Math.min(remembered.length, 4);
  return entry;
}

/** Whether every code point is one unit. */
function isPlain(text: string): boolean {
  return text.length < worthRemembering ? !surrogate.test(text) : look(text).plain;
}

/** How many code points a string has. */
export function codePointLength(text: string): number {
  if (text.length >= worthRemembering) return look(text).length;
  if (!surrogate.test(text)) return text.length;
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** The code points of a string, or the string itself when each is one unit: both can be indexed and sliced. */
export function codePoints(text: string): string | string[] {
  if (isPlain(text)) return text;
  effort.steps += text.length;
  return [...text];
}

export function joinPoints(points: string | readonly string[]): string {
  return typeof points === "string" ? points : points.join("");
}
