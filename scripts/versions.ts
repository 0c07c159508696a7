/** How files change when all packages get another version. */

const KINDS = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];

/** A package.json at a version, with every package of ours that it names at the same. Its form stays. */
export function movedManifest(text: string, ours: ReadonlySet<string>, version: string): string {
  const manifest = JSON.parse(text) as Record<string, unknown>;
  const before = manifest["version"];
  const named = new Set(
    KINDS.flatMap((kind) => Object.keys((manifest[kind] as object | undefined) ?? {})).filter((name) =>
      ours.has(name),
    ),
  );
  let moved = text;
  // A package that is no workspace has a version of its own.
  if (typeof before === "string" && isOurs(manifest["name"], ours)) {
    moved = moved.replace(`"version": "${before}"`, `"version": "${version}"`);
  }
  for (const name of named) {
    const entry = new RegExp(`("${name.replace(/[/]/g, "\\/")}": )"[^"]*"`, "g");
    moved = moved.replace(entry, `$1"${version}"`);
  }
  return moved;
}

function isOurs(name: unknown, ours: ReadonlySet<string>): boolean {
  return (
    typeof name === "string" &&
    ours.has(name) &&
    (name.startsWith("@keelson/") || /^(create-)?keelson$/.test(name))
  );
}

/** What was unreleased becomes the release; a second run changes nothing. */
export function movedChangelog(text: string, version: string, day: string): string {
  if (text.includes(`## ${version} `)) return text;
  return text.replace("## Unreleased\n", `## Unreleased\n\n## ${version} (${day})\n`);
}
