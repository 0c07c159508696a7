/** Kubernetes' order of version names: v2 > v1 > v1beta1 > v1alpha1 > anything else. */
import { lookupTable } from "@keelson/core/internal";

const pattern = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/;
const stages: Record<string, number> = lookupTable({ alpha: 0, beta: 1 });

/** Positive when `a` is the better version. Names outside the scheme come last, in lexical order. */
export function compareVersions(a: string, b: string): number {
  if (a === b) return 0;
  const left = pattern.exec(a);
  const right = pattern.exec(b);
  if (!left && !right) return a < b ? 1 : -1;
  if (!left) return -1;
  if (!right) return 1;
  const stage = (match: RegExpExecArray) => (match[2] ? (stages[match[2]] as number) : 2);
  return (
    stage(left) - stage(right) ||
    Number(left[1]) - Number(right[1]) ||
    Number(left[3] ?? 0) - Number(right[3] ?? 0)
  );
}
