/** `$(NAME)` in commands, arguments and values, as Kubernetes expands it. */

/** Replaces `$(NAME)` by its value; an unknown name stays as written, and `$$` is a literal `$`. */
export function expand(
  text: string,
  values: ReadonlyMap<string, string> | Readonly<Record<string, string>>,
): string {
  const get = (name: string) =>
    values instanceof Map ? values.get(name) : (values as Readonly<Record<string, string>>)[name];
  let result = "";
  let at = 0;
  while (at < text.length) {
    const dollar = text.indexOf("$", at);
    if (dollar < 0 || dollar + 1 >= text.length) return result + text.slice(at);
    result += text.slice(at, dollar);
    const next = text[dollar + 1];
    if (next === "$") {
      result += "$";
      at = dollar + 2;
    } else if (next === "(") {
      const close = text.indexOf(")", dollar + 2);
      if (close < 0) {
        result += "$(";
        at = dollar + 2;
      } else {
        const name = text.slice(dollar + 2, close);
        result += get(name) ?? `$(${name})`;
        at = close + 1;
      }
    } else {
      result += `$${next}`;
      at = dollar + 2;
    }
  }
  return result;
}
