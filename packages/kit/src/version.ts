/** Versions of database servers: three numbers. */

/** A version in parts. */
export interface Version {
  readonly major: number;
  readonly minor: number;
  /** 0 when the text has none. */
  readonly patch: number;
}

/** Reads `3.6.14`, `v3.6.14`, `7.0` and `17.2-1`; undefined for anything that does not begin like that. */
export function parseVersion(text: string): Version | undefined {
  const match = /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(text);
  return match
    ? { major: Number(match[1]), minor: Number(match[2]), patch: Number(match[3] ?? 0) }
    : undefined;
}

/** Orders versions by their numbers; what is not a version comes first. */
export function compareVersions(a: string, b: string): number {
  const [x, y] = [parseVersion(a), parseVersion(b)];
  if (!x || !y) return x ? 1 : y ? -1 : 0;
  return x.major - y.major || x.minor - y.minor || x.patch - y.patch;
}

/** `3.6` of `3.6.14`. */
export function minorOf(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}

/** Whether the first version has a later minor than the second: most databases cannot read the data of one. */
export function isNewerMinor(version: string, than: string): boolean {
  return compareVersions(minorOf(version), minorOf(than)) > 0;
}
