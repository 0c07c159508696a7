/** The author's files, to say where a finding is. Places are found by the text: code is not executed for it. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Place {
  readonly file: string;
  readonly line: number;
}

interface Source {
  readonly path: string;
  readonly text: string;
}

export class Sources {
  readonly #files: readonly Source[];

  constructor(directory: string) {
    this.#files = globSync("src/**/*.ts", { cwd: directory })
      .filter((path) => !/\.test(-d)?\.ts$/.test(path))
      .sort()
      .map((path) => ({ path, text: readFileSync(join(directory, path), "utf8") }));
  }

  /** The first place that matches. */
  find(pattern: RegExp): Place | undefined {
    return firstOf(this.#files, pattern);
  }

  /** Whether a name is used beyond its import and its grants. */
  mentions(name: string): boolean {
    return this.#files.some(({ text }) => {
      const code = text
        .replace(/^import\s[^;]*;$/gm, "")
        .replace(new RegExp(`allow(Subresource)?\\(\\s*${name}\\b`, "g"), "");
      return new RegExp(`\\b${name}\\b`).test(code);
    });
  }

  /** Where a field of a kind is written, or else its kind: each name of the path is looked for after the one before. */
  field(kind: string, path: readonly string[]): Place | undefined {
    const home = this.#files.find(({ text }) => kindPattern(kind).test(text));
    const names = path.filter((name) => name !== "[]" && name !== "*");
    if (home) {
      const start = home.text.search(kindPattern(kind));
      let at = start;
      for (const name of names) {
        const next = after(home.text, keyPattern(name), at);
        if (next === undefined)
          return this.#elsewhere(names, { file: home.path, line: lineAt(home.text, start) });
        at = next;
      }
      return { file: home.path, line: lineAt(home.text, at) };
    }
    return this.#elsewhere(names, undefined);
  }

  /** A schema of its own file, which the kind's file imports. */
  #elsewhere(names: readonly string[], otherwise: Place | undefined): Place | undefined {
    const last = names.at(-1);
    const schemas = this.#files.filter(({ text }) => /\bz\./.test(text));
    const found = last === undefined ? undefined : firstOf(schemas, keyPattern(last));
    return found ?? otherwise;
  }
}

function firstOf(files: readonly Source[], pattern: RegExp): Place | undefined {
  for (const { path, text } of files) {
    const at = text.search(pattern);
    if (at >= 0) return { file: path, line: lineAt(text, at) };
  }
  return undefined;
}

function kindPattern(kind: string): RegExp {
  return new RegExp(`\\bkind:\\s*["'\`]${kind}["'\`]`);
}

function keyPattern(name: string): RegExp {
  return new RegExp(`(^|[\\s{,(])["']?${name.replace(/[^\w]/g, "\\$&")}["']?\\s*:`, "m");
}

function after(text: string, pattern: RegExp, from: number): number | undefined {
  const match = pattern.exec(text.slice(from));
  return match ? from + match.index + match[0].search(/[\w"']/) : undefined;
}

function lineAt(text: string, index: number): number {
  const before = text.slice(0, index);
  return before.split("\n").length + (/^\s*\n/.test(text.slice(index)) ? 1 : 0);
}
