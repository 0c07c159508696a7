/** Property names as expressions must write them: `a-b` is `a__dash__b`, `if` is `__if__`. */
import { lookupTable } from "@keelson/core/internal";

const reserved: ReadonlySet<string> = new Set(
  (
    "true false null in as break const continue else for function if import let loop package namespace " +
    "return var void while"
  ).split(" "),
);

const spelled: Readonly<Record<string, string>> = lookupTable({
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
});

/** Undefined when an expression cannot name the property at all. */
export function escapeName(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`;
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  return name.replace(/__|[-./]/g, (part) => spelled[part] as string);
}

/** The field that an expression names; a reserved word may stand for its property unescaped too. */
export function fieldNamed<T>(fields: Pick<ReadonlyMap<string, T>, "get">, name: string): T | undefined {
  return fields.get(name) ?? (reserved.has(name) ? fields.get(`__${name}__`) : undefined);
}
