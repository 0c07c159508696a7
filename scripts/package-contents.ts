/**
 * What a published package holds: its manifest, README and license, and what was built of its sources, with maps that bring
 * the sources along for stack traces. No tests, no records of the compiler, nothing of a source that is gone.
 */
import { existsSync, globSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

/** One package, and the files that npm would put into its tarball. */
export interface Contents {
  /** The package's folder. */
  readonly folder: string;
  readonly files: readonly string[];
}

const ALWAYS = ["LICENSE", "README.md", "package.json"];
const BUILT = /^dist\/(.*?)\.(d\.ts|js|js\.map)$/;
const TEST = /\.(test|test-d|fixture)\./;

/** What is wrong with a package, one sentence each. */
export function contentProblems({ files, folder }: Contents, license: string): string[] {
  const all = new Set(files);
  const missing = ALWAYS.filter((name) => !all.has(name)).map((name) => `has no ${name}`);
  const ownLicense = join(folder, "LICENSE");
  if (existsSync(ownLicense) && readFileSync(ownLicense, "utf8") !== license)
    missing.push("has another LICENSE than the repository");
  return [...missing, ...files.flatMap((file) => fileProblem(file, folder) ?? [])];
}

function fileProblem(file: string, folder: string): string | undefined {
  if (ALWAYS.includes(file) || file.startsWith("bin/")) return undefined;
  const [, source, form] = BUILT.exec(file) ?? [];
  if (source === undefined) return `holds ${file}, which nobody needs`;
  if (TEST.test(file)) return `holds ${file}, which is for tests`;
  if (!hasSource(folder, source)) return `holds ${file}, whose source is gone`;
  if (form !== "js.map") return undefined;
  const { sourcesContent = [] } = JSON.parse(readFileSync(join(folder, file), "utf8")) as {
    sourcesContent?: (string | null)[];
  };
  return sourcesContent.some(Boolean) ? undefined : `holds ${file} without its source`;
}

function hasSource(folder: string, name: string): boolean {
  return existsSync(join(folder, "src", `${name}.ts`));
}

/** The compiler leaves what it built of a source that was moved or removed. */
export function removeStale(folder: string): void {
  for (const file of globSync("dist/**/*.{d.ts,js,js.map}", { cwd: folder })) {
    const [, source = ""] = BUILT.exec(file) ?? [];
    if (TEST.test(file) || !hasSource(folder, source)) rmSync(join(folder, file));
  }
}

/** The folders of the packages that are published. */
export function publishedFolders(root: string): string[] {
  return readdirSync(join(root, "packages"))
    .sort()
    .map((name) => join(root, "packages", name));
}
