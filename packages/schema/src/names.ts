/** Names that follow from other names: plurals, list kinds, the order of versions. */

/** The plural that Kubernetes' own tools would guess. */
export function pluralOf(kind: string): string {
  const singular = kind.toLowerCase();
  if (/(s|x|z|ch|sh)$/.test(singular)) return `${singular}es`;
  if (/[^aeiou]y$/.test(singular)) return `${singular.slice(0, -1)}ies`;
  return `${singular}s`;
}

const STABILITY = { "": 2, beta: 1, alpha: 0 } as const;

/** Orders versions as the API server prefers them: v2, v1, v1beta2, v1beta1, v1alpha1, then the rest by name. */
export function versionOrder(a: string, b: string): number {
  const [left, right] = [rank(a), rank(b)];
  if (!left || !right) return left ? -1 : right ? 1 : a < b ? -1 : a > b ? 1 : 0;
  for (const [index, value] of left.entries()) {
    const difference = (right[index] as number) - value;
    if (difference !== 0) return difference;
  }
  return 0;
}

function rank(version: string): [number, number, number] | undefined {
  const match = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/.exec(version);
  if (!match) return undefined;
  const stability = (match[2] ?? "") as keyof typeof STABILITY;
  return [STABILITY[stability], Number(match[1]), Number(match[3] ?? 0)];
}
