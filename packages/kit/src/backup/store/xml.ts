/** The part of XML that S3 responses use. */

/** The text of the first element of this name. */
export function element(xml: string, name: string): string | undefined {
  const found = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return found === undefined ? undefined : decoded(found);
}

/** The content of every element of this name. */
export function elements(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([\\s\\S]*?)</${name}>`, "g"))].map(
    ([, inside = ""]) => inside,
  );
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function decoded(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal, hexadecimal, name) => {
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    if (hexadecimal !== undefined) return String.fromCodePoint(Number.parseInt(hexadecimal, 16));
    return entities[name] ?? whole;
  });
}

/** For text inside an element. */
export function escapeText(text: string): string {
  return text.replace(/[<>&"]/g, (each) => `&#${each.charCodeAt(0)};`);
}
