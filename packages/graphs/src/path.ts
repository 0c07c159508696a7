/** Places in JSON: `spec.resources[0].template`. */

/** Names of fields and positions in lists, outermost first. */
export type Path = readonly (string | number)[];

/** As people write it; names that are no identifiers stand in brackets. */
export function formatPath(path: Path): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (/^[A-Za-z_$][\w$-]*$/.test(step)) text += text === "" ? step : `.${step}`;
    else text += `[${JSON.stringify(step)}]`;
  }
  return text;
}
