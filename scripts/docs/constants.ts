/** Finds string constants in the sources, with the comment that explains each. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../run.ts";

export interface Constant {
  /** `packages/runtime` or `operators/etcd`. */
  readonly home: string;
  readonly file: string;
  /** The constant or property that holds it. */
  readonly name: string;
  /** For a property: the exported constant that it is in. */
  readonly group: string;
  readonly value: string;
  /** The first sentence or two above it; empty when there are none. */
  readonly meaning: string;
}

/**
 * Constants and properties whose value is a string: `export const a = "…"`, `a: "…"`, and property names in quotes that
 * look like a label, such as `"example.com/a": …`.
 */
export function constantsIn(files: string): Constant[] {
  const pattern =
    /(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*)?(?:(?:(?:export )?const (\w+) = |(?<=^\s*)(\w+): )"([^"\n]+)"|(?<=^\s*)"([\w.-]+\/[\w.-]+)": )/gm;
  return globSync(files, { cwd: root, exclude: (path) => /\.test(-d)?\.ts$/.test(path) })
    .map((file) => file.replaceAll("\\", "/"))
    .sort()
    .flatMap((file) => {
      const source = readFileSync(join(root, file), "utf8");
      const home = file.split("/").slice(0, 2).join("/");
      return [...source.matchAll(pattern)].map((match) => {
        const [, comment = "", constant, property, value, quoted] = match;
        return {
          home,
          file,
          name: constant ?? property ?? "",
          group: constant === undefined ? groupAt(source, match.index) : "",
          value: value ?? quoted ?? "",
          meaning: comment.replace(/\s*\n\s*\*\s*/g, " ").trim(),
        };
      });
    });
}

/** The nearest `const … = {` above a place. */
function groupAt(source: string, index: number): string {
  return [...source.slice(0, index).matchAll(/^(?:export )?const (\w+) = \{/gm)].at(-1)?.[1] ?? "";
}
