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
const MENTIONS = /\bimport\s*(\.\s*meta|\()|\b__(dirname|filename)\b/;
const PLACEHOLDER = /KEELSON_APP_FROM_HERE_*/g;

/** `entry` is the module whose `import.meta.main` is true. */
export async function ownPlace(places: Places, entry: string): Promise<Plugin> {
  const { parseAst } = await import("rolldown/parseAst");
  return {
    name: "keelson:own-place",
    transform(code, id) {
      const placed = places.packageOf(id);
      if (!placed || !MENTIONS.test(code)) return null;
      const { body } = parseAst(code, { lang: /\.[cm]?ts$/.test(id) ? "ts" : "js" }, id);
      const { imports, isModule, metas } = mentions(body);
      if (places.isAuthors(placed) && imports > 0) {
        throw new CannotBundle(`${id} imports a module whose name it computes`);
      }
      const path = JSON.stringify(places.pathOf(id));
      if (!isModule) {
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

/** Where a module says `import.meta`, and how many imports have names that are computed. */
function mentions(body: readonly Node[]) {
  const metas: Node[] = [];
  let imports = 0;
  let isModule = false;
  const look = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const each of value) look(each);
    } else if (typeof value === "object" && value !== null) {
      const node = value as Node & { meta?: { name?: string }; source?: Node };
      if (node.type === "MetaProperty" && node.meta?.name === "import") metas.push(node);
      if (node.type === "ImportExpression" && node.source?.type !== "Literal") imports++;
      if (/^(Import|Export)\w*Declaration$/.test(node.type)) isModule = true;
      for (const each of Object.values(node)) look(each);
    }
  };
  look(body);
  return { imports, isModule: isModule || metas.length > 0, metas };
}
