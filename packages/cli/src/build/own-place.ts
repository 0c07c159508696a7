/** Keeps true in a bundle what a module knows of its own place: `import.meta`, `__dirname` and `__filename`. */
import { extname, join } from "node:path";
import type { Plugin } from "rolldown";
import type { Placed } from "./bundle-scope.ts";

/** Why a program cannot become a bundle. It runs as its modules then. */
export class CannotBundle extends Error {
  override readonly name = "CannotBundle";
}

/** What a module that becomes part of a bundle is called in the image. */
export interface Places {
  packageOf(file: string): Placed | undefined;
  /** Below /app. */
  pathOf(file: string): string;
  /** Whether the package is the operator's own, or one that its author chose for its use of Keelson. */
  isAuthors(placed: Placed): boolean;
}

const MODULE = join(import.meta.dirname, `in-image/module-place${extname(import.meta.filename)}`);
const MENTIONS = /\bimport\s*(\.\s*meta|\()|\b(__dirname|__filename)\b/;
const MENTIONS_OR_AWAITS = new RegExp(`${MENTIONS.source}|\\bawait\\b`);
const PLACEHOLDER = /KEELSON_APP_FROM_HERE_*/g;

/** `entry` is the module whose `import.meta.main` is true. */
export async function ownPlace(places: Places, entry: string): Promise<Plugin> {
  const { parseAst } = await import("rolldown/parseAst");
  return {
    name: "keelson:own-place",
    transform(code, id) {
      const placed = places.packageOf(id);
      if (!placed) return null;
      const isAuthors = places.isAuthors(placed);
      if (!(isAuthors ? MENTIONS_OR_AWAITS : MENTIONS).test(code)) return null;
      const { body } = parseAst(code, { lang: /\.[cm]?ts$/.test(id) ? "ts" : "js" }, id);
      const { awaits, imports, isModule, metas, places: own } = mentions(body);
      if (isAuthors && imports) throw new CannotBundle(`${id} imports a module whose name it computes`);
      // What it awaits may import a file that waits for the file that this module has become a part of.
      if (isAuthors && awaits && id !== entry)
        throw new CannotBundle(`${id} awaits something when it is imported`);
      const path = JSON.stringify(places.pathOf(id));
      if (!isModule) {
        if (!own) return null;
        const place = `require(${JSON.stringify(MODULE)}).placeOf(${path})`;
        return `const { dirname: __dirname, filename: __filename } = ${place};${code}`;
      }
      if (metas.length === 0) return null;
      let rewritten = "";
      let at = 0;
      for (const { end, start } of metas) {
        rewritten += `${code.slice(at, start)}keelsonPlaceOf(${path}, ${id === entry})`;
        at = end;
      }
      return `import { placeOf as keelsonPlaceOf } from ${JSON.stringify(MODULE)};${rewritten}${code.slice(at)}`;
    },
  };
}

/** Writes into a file of a bundle how /app is reached from there. Positions in the file stay as they are. */
export function placed(code: string, file: string): string {
  const up = "../".repeat(file.split("/").length - 1) || "./";
  return code.replace(PLACEHOLDER, ({ length }) => up.padEnd(length));
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

const FUNCTION = /Function|^Method/;

/** What of a module matters where it becomes part of a bundle. */
function mentions(body: readonly Node[]) {
  /** Where it says `import.meta`. */
  const metas: Node[] = [];
  /** Whether it awaits something outside of functions, imports names that it computes, or says `__dirname`. */
  const found = { awaits: false, imports: false, isModule: false, places: false };
  const look = (value: unknown, inFunction: boolean): void => {
    if (Array.isArray(value)) {
      for (const each of value) look(each, inFunction);
    } else if (typeof value === "object" && value !== null) {
      const node = value as Node & Details;
      const { type } = node;
      if (type === "MetaProperty" && node.meta?.name === "import") metas.push(node);
      found.imports ||= type === "ImportExpression" && node.source?.type !== "Literal";
      found.isModule ||= /^(Import|Export)\w*Declaration$/.test(type);
      found.places ||= type === "Identifier" && /^__(dirname|filename)$/.test(node.name ?? "");
      found.awaits ||= !inFunction && isAwait(node);
      for (const each of Object.values(node)) look(each, inFunction || FUNCTION.test(type ?? ""));
    }
  };
  look(body, false);
  return { ...found, isModule: found.isModule || metas.length > 0, metas };
}

interface Details {
  readonly await?: boolean;
  readonly kind?: string;
  readonly meta?: { readonly name?: string };
  readonly name?: string;
  readonly source?: Node;
}

function isAwait({ await: each, kind, type }: Node & Details): boolean {
  return type === "AwaitExpression" || (type === "ForOfStatement" && each === true) || kind === "await using";
}
