/** Who may import whom: arrows never turn back, and core does no I/O. */
import { globSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { root } from "./run.ts";

const sdk = ["core", "schema", "client", "runtime"];
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  schema: ["core"],
  client: ["core"],
  runtime: ["core", "schema", "client"],
  kit: [...sdk, "pki"],
  cluster: sdk,
  testing: [...sdk, "cluster"],
  cli: [...sdk, "cluster"],
  keelson: [...sdk, "cli"],
};

/** Sentences that name each import that goes the wrong way. */
export function directionProblems(): string[] {
  return Object.entries(MAY_IMPORT).flatMap(([name, allowed]) => {
    const folder = join(root, "packages", name);
    return globSync("src/**/*.ts", { cwd: folder })
      .filter((file) => !/\.test(-d)?\.ts$/.test(file))
      .flatMap((file) => fileProblems(name, join(folder, file), allowed));
  });
}

function fileProblems(name: string, path: string, allowed: readonly string[]): string[] {
  const file = relative(root, path).split(sep).join("/");
  const source = readFileSync(path, "utf8");
  const problems: string[] = [];
  for (const match of source.matchAll(
    /(?:^|\n)(import|export)\s(type\s)?[^;'"]*?from\s+"([^"]+)"|import\("([^"]+)"\)/g,
  )) {
    const target = match[3] ?? match[4] ?? "";
    const own =
      /^@keelson\/([^/]+)/.exec(target)?.[1] ?? (/^keelson(\/|$)/.test(target) ? "keelson" : undefined);
    if (own && own !== name && !allowed.includes(own))
      problems.push(`${file}: ${name} must not import ${target}`);
    if (own === name) problems.push(`${file}: a package enters itself by relative paths, not by ${target}`);
    if (
      target.startsWith("../") &&
      !join(path, "..", target).startsWith(join(root, "packages", name) + sep)
    ) {
      problems.push(`${file}: ${target} leaves the package; import it by its name`);
    }
    if (name === "core" && target.startsWith("node:") && !match[2]) {
      problems.push(`${file}: core does no I/O and must not import ${target}`);
    }
  }
  return problems;
}
