/**
 * Places in a manifest that a Helm template fills in. A manifest is built once, with values or with such places in
 * their stead, so that the chart cannot differ from what is applied without it.
 */

const OPEN = "⟪";
const CLOSE = "⟫";

/** A string, quoted. */
export const text = (expression: string) => `${OPEN}text ${expression}${CLOSE}`;
/** A number or a boolean. */
export const bare = (expression: string) => `${OPEN}bare ${expression}${CLOSE}` as never;
/** The map or list of a key, which is left out when it is empty. */
export const block = (expression: string) => `${OPEN}block ${expression}${CLOSE}` as never;
/** In a list: further items. */
export const items = (expression: string) => [`${OPEN}items ${expression}${CLOSE}` as never];
/** In a map: further entries. */
export const entries = (expression: string) => ({ [`${OPEN}items ${expression}${CLOSE}`]: "" });

/** YAML with such places as a Helm template. What looks like a template in it already is kept as text. */
export function templateOf(yaml: string): string {
  return yaml
    .replaceAll("{{", '{{ "{{" }}')
    .split("\n")
    .map((line) => filled(line))
    .join("\n");
}

function filled(line: string): string {
  const place = new RegExp(`["']?${OPEN}(\\w+) (.*?)${CLOSE}["']?`).exec(line);
  if (!place) return line;
  const [whole, role, expression = ""] = place;
  if (role === "text") return line.replace(whole, `{{ ${expression} | quote }}`);
  if (role === "bare") return line.replace(whole, `{{ ${expression} }}`);
  const indent = /^ */.exec(line)?.[0] ?? "";
  const opened = `${indent}{{- with ${expression} }}\n`;
  const closed = `${indent}{{- end }}`;
  if (role === "items") return `${opened}${indent}{{- toYaml . | nindent ${indent.length} }}\n${closed}`;
  // The first key of an item has its dash on the same line.
  const key = line.slice(0, line.indexOf(whole)).trimEnd();
  return `${opened}${key}\n${indent}  {{- toYaml . | nindent ${key.search(/\w/) + 2} }}\n${closed}`;
}
