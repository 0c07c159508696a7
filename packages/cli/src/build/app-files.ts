/** The files of an operator and of the packages it needs, as they will lie in its image under /app. */
import { existsSync, globSync, lstatSync, readFileSync, realpathSync } from "node:fs";
import { join, sep } from "node:path";
import { CliError } from "../errors.ts";
import type { Project } from "../project.ts";
import type { TarEntry } from "./tar.ts";

const LEFT_OUT =
  /(^|\/)(node_modules|test|tests|coverage|\.git|\.keelson)(\/|$)|\.test(-d)?\.ts$|\.tsbuildinfo$|\.map$/;

/** The package itself, and its dependencies flat in node_modules. */
export function appFiles(project: Project): TarEntry[] {
  const packages = closure(project);
  const files = [...ownFiles(project.directory, "app")];
  for (const [name, directory] of packages) files.push(...ownFiles(directory, `app/node_modules/${name}`));
  return withDirectories(files);
}

function* ownFiles(directory: string, into: string): Iterable<TarEntry> {
  for (const file of globSync("**/*", { cwd: directory, exclude: (path) => LEFT_OUT.test(path) }).sort()) {
    const path = join(directory, file);
    const stat = lstatSync(path);
    if (!stat.isFile() || LEFT_OUT.test(file)) continue;
    const mode = stat.mode & 0o111 ? 0o755 : 0o644;
    yield { path: `${into}/${file.split(sep).join("/")}`, type: "file", mode, content: readFileSync(path) };
  }
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly exports?: { "."?: { default?: unknown } };
  /** `tools`: dependencies that only the package's command needs, and no program that imports it. */
  readonly keelson?: { readonly tools?: readonly string[] };
}

/**
 * Every package that can be reached by dependencies, by name, without the tools among them: an operator does not carry
 * the command that built it, and with it a whole cluster. One version of each: the nearest wins.
 */
function closure(project: Project): Map<string, string> {
  const found = new Map<string, string>();
  const queue = Object.keys(project.dependencies).map((name) => [name, project.directory] as const);
  for (let next = queue.shift(); next; next = queue.shift()) {
    const [name, from] = next;
    if (found.has(name)) continue;
    const directory = locate(name, from);
    if (directory === undefined) continue;
    found.set(name, directory);
    const manifest = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Manifest;
    const entry = manifest.exports?.["."]?.default;
    if (typeof entry === "string" && entry.startsWith("./dist/") && !existsSync(join(directory, entry))) {
      throw new CliError("NotBuilt", `${name} is not built (${entry} is missing); run: npm run build`);
    }
    const tools = manifest.keelson?.tools ?? [];
    const needed = Object.keys(manifest.dependencies ?? {}).filter((each) => !tools.includes(each));
    queue.push(...needed.map((each) => [each, directory] as const));
  }
  return found;
}

/** As Node finds a package: in the node_modules of each folder upwards. */
function locate(name: string, from: string): string | undefined {
  for (let at = from; ; at = join(at, "..")) {
    const candidate = join(at, "node_modules", name);
    if (existsSync(join(candidate, "package.json"))) return realpathSync(candidate);
    if (join(at, "..") === at) return undefined;
  }
}

function withDirectories(files: readonly TarEntry[]): TarEntry[] {
  const directories = new Set<string>();
  for (const { path } of files) {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
      directories.add(path.slice(0, at));
  }
  const made: TarEntry[] = [...directories].sort().map((path) => ({ path, type: "directory", mode: 0o755 }));
  return [...made, ...files];
}
