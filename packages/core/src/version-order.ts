/** The order of versions: of an API, and of programs. */
import { lookupTable } from "./lookup-table.ts";

const apiVersion = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/;
const stages: Readonly<Record<string, number>> = lookupTable({ alpha: 0, beta: 1 });

/**
 * Orders versions of an API, the one that the API server prefers first: v2, v1, v1beta2, v1beta1, v1alpha1, then names
 * outside the scheme in lexical order.
 */
export function compareApiVersions(a: string, b: string): number {
  const [left, right] = [apiRank(a), apiRank(b)];
  if (!left || !right) return left ? -1 : right ? 1 : a < b ? -1 : a > b ? 1 : 0;
  for (const [index, value] of left.entries()) {
    const difference = (right[index] as number) - value;
    if (difference !== 0) return difference;
  }
  return 0;
}

function apiRank(version: string): readonly number[] | undefined {
  const match = apiVersion.exec(version);
  if (!match) return undefined;
  const [, major, stage, minor] = match;
  return [stage === undefined ? 2 : (stages[stage] as number), Number(major), Number(minor ?? 0)];
}

/** Orders versions of programs by their numbers, the lower first: `3.5.9` before `v3.5.10`. What is no digit separates. */
export function compareVersionNumbers(a: string, b: string): number {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function numbersOf(version: string): number[] {
  return (version.match(/\d+/g) ?? []).map(Number);
}
