/**
 * The public API of each package, read from the declarations that `tsc -b` wrote: one report per package, committed as
 * `packages/NAME/api.md`, so that a change of a promise is seen in review.
 *
 * The declarations are read as text: TypeScript 7 has no programming interface yet, and what it writes has one form.
 * A statement begins in the first column, and its documentation stands right before it.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { commandLine } from "./command-line.ts";
import { root } from "./run.ts";

interface Declared {
  readonly text: string;
  readonly documented: boolean;
}

interface Exported extends Declared {
  readonly name: string;
}

interface PackageManifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, { readonly types?: string }>>;
}

/** Entries that only our own packages use. */
const isInternal = (entry: string) => entry === "./internal";

/** Kinds made by the generator: facts of Kubernetes, without anybody's prose. */
const isGenerated = (entry: string) => entry === "./kinds";

/** Sentences for each report that is not current and each public export without documentation. */
export function apiProblems(packages = join(root, "packages")): string[] {
  return readdirSync(packages).flatMap((folder) => {
    const { report, undocumented } = reportOf(join(packages, folder));
    const path = `packages/${folder}/api.md`;
    const file = join(packages, folder, "api.md");
    const written = existsSync(file) ? readFileSync(file, "utf8") : "";
    return [
      ...(written === report ? [] : [`${path} is not current: npm run api`]),
      ...undocumented.map((name) => `packages/${folder}: ${name} is public and has no documentation`),
    ];
  });
}

export function writeReports(packages = join(root, "packages")): void {
  for (const folder of readdirSync(packages))
    writeFileSync(join(packages, folder, "api.md"), reportOf(join(packages, folder)).report);
}

/** How many names the packages export, and how many of them are documented. */
export function apiFigures(): { folder: string; exported: number; documented: number }[] {
  const packages = join(root, "packages");
  return readdirSync(packages).map((folder) => {
    const { exported, undocumented } = reportOf(join(packages, folder));
    return { folder, exported, documented: exported - undocumented.length };
  });
}

function reportOf(home: string): { report: string; exported: number; undocumented: string[] } {
  const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as PackageManifest;
  const parts = [`# The public API of ${manifest.name}\n\nWritten by \`npm run api\`; do not edit.\n`];
  const undocumented: string[] = [];
  const seen = new Set<string>();
  for (const [entry, { types }] of Object.entries(manifest.exports)) {
    if (isInternal(entry) || types === undefined) continue;
    const found = exportsOf(join(home, types)).sort((a, b) => (a.name < b.name ? -1 : 1));
    const name = manifest.name + entry.slice(1);
    const fence = "`".repeat(3);
    parts.push(`\n## ${name}\n\n${fence}ts\n${found.map(({ text }) => text).join("\n\n")}\n${fence}\n`);
    for (const each of found) {
      seen.add(`${each.name} ${each.text}`);
      if (!each.documented && !isGenerated(entry)) undocumented.push(`${each.name} of ${name}`);
    }
  }
  return { report: parts.join(""), exported: seen.size, undocumented: [...new Set(undocumented)] };
}

function exportsOf(file: string): Exported[] {
  const source = readFileSync(file, "utf8");
  const own = declarationsIn(file);
  const found: Exported[] = [];
  for (const [name, declared] of own) if (/^export /.test(declared.text)) found.push({ name, ...declared });
  for (const match of source.matchAll(/^export (type )?\{([^}]*)\}(?: from "([^"]+)")?;/gm)) {
    const from = match[3];
    for (const part of (match[2] ?? "").split(",")) {
      const [original = "", alias] = part
        .trim()
        .replace(/^type /, "")
        .split(" as ");
      if (original === "") continue;
      found.push({ name: alias ?? original, ...resolve(file, original, from) });
    }
  }
  for (const match of source.matchAll(/^export \* from "(\.[^"]+)";/gm))
    found.push(...exportsOf(target(file, match[1] as string)));
  return found;
}

function resolve(file: string, name: string, from: string | undefined): Declared {
  if (from !== undefined && !from.startsWith("."))
    return { text: `export { ${name} } from "${from}";`, documented: true };
  const source = from === undefined ? file : target(file, from);
  const declared = declarationsIn(source).get(name);
  if (declared) return { ...declared, text: declared.text.replace(/^(?!export )/, "export ") };
  const again = exportsOf(source).find((each) => each.name === name);
  if (again) return again;
  throw new Error(`${file} exports ${name}, which ${source} does not declare`);
}

function target(file: string, specifier: string): string {
  return join(dirname(file), posix.normalize(specifier).replace(/\.[jt]s$/, ".d.ts"));
}

const cache = new Map<string, ReadonlyMap<string, Declared>>();
const statement =
  /^(?:export )?(?:declare )?(?:default )?(?:abstract )?(?:async )?(?:interface|type|class|function\*?|const|let|enum|namespace) (\w+)/;

/** Declarations at the top of a file, by name. Overloads of a function stand together. */
function declarationsIn(file: string): ReadonlyMap<string, Declared> {
  const known = cache.get(file);
  if (known) return known;
  const found = new Map<string, Declared>();
  let comment = false;
  let isDocumented = false;
  let name: string | undefined;
  let lines: string[] = [];
  const finish = () => {
    if (name !== undefined) {
      const before = found.get(name);
      const text = lines.join("\n").trimEnd();
      found.set(name, {
        text: before ? `${before.text}\n${text}` : text,
        documented: (before?.documented ?? false) || isDocumented,
      });
    }
    name = undefined;
    lines = [];
  };
  for (const line of readFileSync(file, "utf8").split("\n")) {
    if (comment) {
      if (line.includes("*/")) comment = false;
      continue;
    }
    if (line.startsWith("/**")) {
      finish();
      isDocumented = true;
      comment = !line.includes("*/");
      continue;
    }
    const match = statement.exec(line);
    if (match) {
      finish();
      name = match[1];
      lines = [line];
    } else if (/^(import|export)\b|^\/\//.test(line)) finish();
    else if (name !== undefined) lines.push(line);
    if (name !== undefined && lines.length === 1 && !match) lines = [];
    if (match === null && /^(import|export)\b/.test(line)) isDocumented = false;
    if (match && /[;}]$/.test(line)) {
      finish();
      isDocumented = false;
    } else if (name === undefined && match === null && line !== "") isDocumented = false;
    else if (name !== undefined && line === "}") {
      finish();
      isDocumented = false;
    }
  }
  finish();
  const stripped = new Map(
    [...found].map(([key, { text, documented }]) => [key, { text: withoutComments(text), documented }]),
  );
  cache.set(file, stripped);
  return stripped;
}

/** Members without their documentation: the report is about names and types. */
function withoutComments(text: string): string {
  return text.replace(/\n\s*\/\*\*[\s\S]*?\*\//g, "").replace(/^export declare /, "export ");
}

if (process.argv[1] === import.meta.filename) {
  const { figures } = commandLine({
    command: "npm run api",
    does: "Writes packages/*/api.md, the report of each package's public API, from its built types.",
    options: { figures: { help: "print how much is exported and documented, and write nothing" } },
  });
  if (figures) console.table(apiFigures());
  else writeReports();
}
