/** What differs from one etcd version to the next, and how to get from one to another. */
import { minorOf, parseVersion } from "@keelson/kit";

/** The newest tested patch of each minor: where an upgrade over several minors stops in between. */
const STOPS: Readonly<Record<number, string>> = { 4: "3.4.45", 5: "3.5.35", 6: "3.6.16", 7: "3.7.3" };

/**
 * The least patch from which the next minor may be entered. Before 3.5.32 removed members can come back to life in 3.6,
 * whose membership lives in another store; before 3.6.11 the same holds for 3.7.
 */
const FLOORS: Readonly<Record<number, number>> = { 5: 32, 6: 11 };

/** Why the operator refuses to run this version, as a sentence; undefined when it does not. */
export function versionProblem(version: string): string | undefined {
  const parsed = parseVersion(version);
  const known = Object.keys(STOPS).map((minor) => `3.${minor}`);
  if (parsed?.major !== 3 || STOPS[parsed.minor] === undefined) {
    return `etcd ${version} is not supported; set spec.version to a version of ${known.join(", ")}`;
  }
  if (parsed.minor === 5 && parsed.patch < 6) {
    return `etcd ${version} can lose or corrupt data when it crashes; set spec.version to 3.5.6 or later`;
  }
  return undefined;
}

export type Hop = { readonly to: string } | { readonly refused: string };

/** The next version on the way from one to another: one minor at a time, each entered from a patch that allows it. */
export function nextVersion(from: string, target: string): Hop {
  const problem = versionProblem(target);
  if (problem !== undefined) return { refused: problem };
  const [current, wanted] = [parseVersion(from), parseVersion(target)];
  if (!current || !wanted || current.minor === wanted.minor) return { to: target };
  if (wanted.minor < current.minor) {
    return {
      refused: `etcd cannot go back from ${from} to ${target}: members refuse the data of a newer minor; set spec.version back, or restore a backup into a new cluster`,
    };
  }
  if (current.patch < (FLOORS[current.minor] ?? 0)) return { to: STOPS[current.minor] as string };
  return { to: wanted.minor === current.minor + 1 ? target : (STOPS[current.minor + 1] as string) };
}

/** A version of the next minor: the wanted one if it is of that minor; undefined when there is no such minor. */
export function ofNextMinor(from: string, wanted: string): string | undefined {
  const { minor } = parseVersion(from) ?? { minor: 0 };
  return minorOf(wanted) === `3.${minor + 1}` ? wanted : STOPS[minor + 1];
}

/** Whether `/livez` and `/readyz` are served. */
export function hasHealthEndpoints(version: string): boolean {
  const { minor, patch } = parseVersion(version) ?? { minor: 0, patch: 0 };
  return minor >= 6 || (minor === 5 && patch >= 11) || (minor === 4 && patch >= 29);
}

/** Flags that make a member compare its data with the others before it serves, and at every compaction. */
export function corruptionFlags(version: string): string[] {
  const { minor } = parseVersion(version) ?? { minor: 0 };
  if (minor >= 6) return ["--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true"];
  const initial = "--experimental-initial-corrupt-check=true";
  return minor === 5
    ? [initial, "--experimental-compact-hash-check-enabled=true"]
    : [initial, "--experimental-corrupt-check-time=12h"];
}

/** Flags that give an old version the behaviour which later ones have by default. */
export function compatibilityFlags(version: string): string[] {
  return minorOf(version) === "3.4" ? ["--logger=zap", "--pre-vote=true"] : [];
}
