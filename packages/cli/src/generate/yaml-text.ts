/** Objects as YAML, in the one form that generated files have. */
import { stringify } from "yaml";

/** Written above each generated file. */
export const HEADER = "# Made by keelson generate: change the code or values.yaml, not this file.\n";

export function yamlOf(...objects: readonly unknown[]): string {
  return objects.map((each) => stringify(each, { aliasDuplicateObjects: false, lineWidth: 0 })).join("---\n");
}
