/** Adds a package of Keelson to a project's package.json, in the release that the project has. */

/** The new text; undefined where there is nothing to change, or no dependency on keelson to follow. */
export function addDependency(manifest: string, name: string): string | undefined {
  if (new RegExp(`"${name}":`).test(manifest)) return undefined;
  const match = /("dependencies": \{)(\s*)([\s\S]*?"keelson": "([^"]+)")/.exec(manifest);
  if (!match) return undefined;
  const [whole, open = "", space = "", rest = "", release = ""] = match;
  const own = release.replace(/keelson-(\d[^/]*\.tgz)$/, `${name.replace(/^@/, "").replace("/", "-")}-$1`);
  return manifest.replace(whole, () => `${open}${space}"${name}": "${own}",${space}${rest}`);
}
