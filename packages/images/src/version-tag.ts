/** Which version a tag asks for, and whether a version we have satisfies it. */

/**
 * Tags name true versions: `7`, `7.0` and `7.0.15` accept 7.0.15; `latest` and an empty tag accept anything.
 * A leading `v`, a build number (`3.5.15-0`) and a variant that says which Debian it is built on
 * (`-bookworm`, `-slim`) are allowed; variants of other systems (`-alpine`) are not what we have.
 */
export function tagAccepts(tag: string, version: string, names: readonly string[] = []): boolean {
  if (tag === "" || tag === "latest" || names.includes(tag)) return true;
  const bare = tag.replace(/^v(?=\d)/, "").replace(/(?:-(?:slim|bookworm|trixie|bullseye|debian|\d+))+$/, "");
  if (names.includes(bare)) return true;
  return bare === version || version.startsWith(`${bare}.`);
}

/** Orders versions by their numbers, component by component. */
export function compareVersions(a: string, b: string): number {
  const left = a.split(/[^0-9]+/).map(Number);
  const right = b.split(/[^0-9]+/).map(Number);
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
