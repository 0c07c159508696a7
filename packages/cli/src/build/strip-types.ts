/**
 * JavaScript beside an operator's TypeScript, so that its image starts 80 ms sooner: Node would load a compiler first. Lines
 * and columns stay as they are. The TypeScript stays too, for what is started by its path.
 */
import { stripTypeScriptTypes } from "node:module";
import { posix } from "node:path";
import type { TarFile } from "@keelson/images/internal";
import { initSync, parse } from "es-module-lexer";

const TYPESCRIPT = /(?<!\.d)\.(m?)ts$/;

/** The name of the JavaScript that stands for a TypeScript module. */
export function withoutTypes(path: string): string {
  return path.replace(TYPESCRIPT, ".$1js");
}

/**
 * Nothing where a module could be reached in two ways, by `imports` of package.json or by the package's own name: it would
 * be there twice.
 */
export function strippedModules(files: readonly TarFile[], packageName: string | undefined): TarFile[] {
  initSync();
  const paths = new Set(files.map(({ path }) => path));
  const stripped = new Map<string, { readonly file: TarFile; readonly code: string }>();
  for (const file of files) {
    if (file.type !== "file" || !TYPESCRIPT.test(file.path) || paths.has(withoutTypes(file.path))) continue;
    const code = strip(String(file.content));
    if (code !== undefined) stripped.set(file.path, { file, code });
  }
  const made: TarFile[] = [];
  for (const [path, { file, code }] of stripped) {
    const [imports] = parse(code, path);
    const names = imports.flatMap(({ n }) => n ?? []);
    if (names.some((name) => name.startsWith("#") || isOwn(name, packageName))) return [];
    made.push({
      ...file,
      path: withoutTypes(path),
      content: Buffer.from(renamed(code, path, imports, stripped)),
    });
  }
  return made;
}

function isOwn(name: string, packageName: string | undefined): boolean {
  return packageName !== undefined && (name === packageName || name.startsWith(`${packageName}/`));
}

/** Imports of what was stripped lead to the JavaScript. */
function renamed(
  code: string,
  path: string,
  imports: ReturnType<typeof parse>[0],
  stripped: ReadonlyMap<string, unknown>,
): string {
  let result = "";
  let at = 0;
  for (const { n: name, s: start, e: end } of imports) {
    if (name === undefined || !/^\.\.?\//.test(name)) continue;
    if (!stripped.has(posix.join(posix.dirname(path), name))) continue;
    result += code.slice(at, start) + code.slice(start, end).replace(name, withoutTypes(name));
    at = end;
  }
  return result + code.slice(at);
}

/** Undefined where types alone are not what makes it TypeScript: Node says so when it is imported, if it ever is. */
function strip(code: string): string | undefined {
  const { emitWarning } = process;
  // It warns that it may change; what it gives is what Node itself would run.
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(code);
  } catch {
    return undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}
