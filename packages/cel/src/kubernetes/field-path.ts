/** The `fieldPath` of a rule: a JSON path of fields and map keys, below the schema that has the rule. */
import { lookupTable } from "@keelson/core/internal";
import type { RuleSchema } from "./types.ts";

const quotedEscapes: Readonly<Record<string, string>> = lookupTable({
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "'": "'",
  "\\": "\\",
});

/** The path as errors show it; undefined when it leads nowhere in the schema. */
export function resolveFieldPath(jsonPath: string, schema: RuleSchema): string | undefined {
  let at: RuleSchema | undefined = schema;
  let out = "";
  const tokens = tokenize(jsonPath);
  for (let i = 0; i < tokens.length; ) {
    const bracket = tokens[i] === "[";
    if (!bracket && tokens[i] !== ".") return undefined;
    const raw = tokens[i + 1];
    if (raw === undefined || at === undefined) return undefined;
    const name = bracket ? unquote(raw) : raw;
    if (name === undefined || (bracket && tokens[i + 2] !== "]")) return undefined;
    if (at.properties !== undefined) {
      out += out === "" ? name : `.${name}`;
      at = Object.hasOwn(at.properties, name) ? at.properties[name] : undefined;
      if (at === undefined) return undefined;
    } else if (at.additionalProperties !== undefined) {
      out += `[${name}]`;
      at = typeof at.additionalProperties === "object" ? at.additionalProperties : undefined;
    } else return undefined;
    i += bracket ? 3 : 2;
  }
  return out;
}

/** Dots and brackets stand alone; what is between them, or between quotes, stays together. */
function tokenize(path: string): string[] {
  return path.match(/'(?:\\.|[^'\\])*'|[.[\]]|[^.[\]']+|'/gs) ?? [];
}

function unquote(token: string): string | undefined {
  if (token.length < 2 || !token.startsWith("'") || !token.endsWith("'")) return undefined;
  let failed = false;
  const text = token.slice(1, -1).replace(/\\(.)/gs, (_, code: string) => {
    const meant = quotedEscapes[code];
    if (meant === undefined) failed = true;
    return meant ?? "";
  });
  return failed ? undefined : text;
}
