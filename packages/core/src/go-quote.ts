/** Text as the API server quotes it in its messages (`%q`). */
import { lookupTable } from "./lookup-table.ts";

const plain = /^[ !#-[\]-~]*$/;
const printable = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;
const short: Record<string, string> = lookupTable({
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  '"': '\\"',
  "\\": "\\\\",
});

/** A string between double quotes, with everything unprintable escaped. */
export function goQuote(text: string): string {
  if (plain.test(text)) return `"${text}"`;
  let out = '"';
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const escaped = short[character];
    if (escaped !== undefined) out += escaped;
    else if (code < 0x20 || code === 0x7f) out += `\\x${code.toString(16).padStart(2, "0")}`;
    else if (code >= 0xd800 && code <= 0xdfff) out += "\ufffd";
    else if (printable.test(character)) out += character;
    else if (code > 0xffff) out += `\\U${code.toString(16).padStart(8, "0")}`;
    else out += `\\u${code.toString(16).padStart(4, "0")}`;
  }
  return `${out}"`;
}
