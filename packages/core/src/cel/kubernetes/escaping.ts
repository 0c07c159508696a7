/** Property names as expressions must write them: `a-b` is `a__dash__b`, `if` is `__if__`. */

const reserved: ReadonlySet<string> = new Set(
  (
    "true false null in as break const continue else for function if import let loop package namespace " +
    "return var void while"
  ).split(" "),
);

const spelled: Readonly<Record<string, string>> = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
};
const meant: Readonly<Record<string, string>> = { underscores: "__", dot: ".", dash: "-", slash: "/" };

/** Undefined when an expression cannot name the property at all. */
export function escapeName(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`;
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  return name.replace(/__|[-./]/g, (part) => spelled[part] as string);
}

/** Undefined when the text is nothing that escaping makes. */
export function unescapeName(escaped: string): string | undefined {
  if (!escaped.includes("__")) return escaped;
  let failed = false;
  const name = escaped.replace(/__([^_]+)__/g, (whole, inner: string) => {
    const plain = Object.hasOwn(meant, inner) ? meant[inner] : undefined;
    if (plain !== undefined) return plain;
    // A reserved word is escaped only when it is the whole name.
    if (!reserved.has(inner) || whole.length !== escaped.length) failed = true;
    return inner;
  });
  return failed ? undefined : name;
}
