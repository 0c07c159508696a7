/** Formats files that a command changed, with the project's own formatter. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseJson } from "@keelson/core";

/** Whether it did: a project without Biome, or before its installation, is formatted by its author. */
export function formatFiles(directory: string, paths: readonly string[]): boolean {
  const sources = paths.filter((path) => path.endsWith(".ts"));
  const formatter = existsSync(join(directory, "biome.json")) ? biomeOf(directory) : undefined;
  if (formatter === undefined || sources.length === 0) return false;
  const { status } = spawnSync(process.execPath, [formatter, "format", "--write", ...sources], {
    cwd: directory,
    stdio: "ignore",
  });
  return status === 0;
}

function biomeOf(directory: string): string | undefined {
  try {
    const manifest = findPackageJSON("@biomejs/biome", pathToFileURL(join(directory, "package.json")));
    if (manifest === undefined) return undefined;
    const { bin } = parseJson(readFileSync(manifest, "utf8")) as unknown as { bin: { biome: string } };
    return join(dirname(manifest), bin.biome);
  } catch {
    return undefined;
  }
}
