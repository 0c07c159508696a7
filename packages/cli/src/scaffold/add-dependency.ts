/** Adds a package of Keelson to a project's package.json, in the release that the project has. */
import { parseJson } from "@keelson/core";
import type { Manifest } from "../project.ts";

/** The new text; undefined where there is nothing to change, or no dependency on keelson to follow. */
export function addDependency(manifest: string, name: string): string | undefined {
  // A project from packed packages names it among its overrides, which install nothing.
  if ((parseJson(manifest) as Manifest).dependencies?.[name] !== undefined) return undefined;
  const match = /("dependencies": \{)(\s*)([\s\S]*?"keelson": "([^"]+)")/.exec(manifest);
  if (!match) return undefined;
  const [whole, open = "", space = "", rest = "", release = ""] = match;
  const own = release.replace(/keelson-(\d[^/]*\.tgz)$/, `${name.replace(/^@/, "").replace("/", "-")}-$1`);
  return manifest.replace(whole, () => `${open}${space}"${name}": "${own}",${space}${rest}`);
}
