/** What is known of the versions of Redis. */

/** The newest RDB format that a version reads; newer formats it refuses. Undefined for versions we do not know. */
const formats: readonly (readonly [version: string, format: number])[] = [
  ["6.2", 9],
  ["7.0", 10],
  ["7.2", 11],
  ["7.4", 12],
  ["8.0", 12],
];

export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split(".").map(Number)) as [number[], number[]];
  for (let index = 0; index < 3; index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** `7.0.15` → `7.0`. */
export function minorOf(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}

export function rdbFormatOf(version: string): number | undefined {
  return formats.find(([known]) => known === minorOf(version))?.[1];
}

/** Why a running database cannot go to that version; undefined when it can. */
export function changeProblem(from: string, to: string): string | undefined {
  const order = compareVersions(minorOf(from), to);
  if (order === 0) return undefined;
  if (order > 0) {
    return `Redis ${minorOf(from)} cannot go back to ${to}, because ${to} does not read its files; set spec.version back to ${minorOf(from)}, or restore a backup from before the upgrade into a new SampleDB`;
  }
  const [major = 0] = from.split(".").map(Number);
  const [target = 0] = to.split(".").map(Number);
  return target - major > 1
    ? `an upgrade from ${minorOf(from)} to ${to} would skip a major version; set spec.version to one of Redis ${major + 1} first`
    : undefined;
}

/** Why the version cannot run at all; undefined when it can. */
export function supportProblem(version: string): string | undefined {
  return compareVersions(version, "7.0") < 0
    ? `Redis ${version} is not supported: 7.0 is the first version whose append-only files can be restored safely`
    : undefined;
}
