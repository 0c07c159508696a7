/** Order of resource versions, which are integers of any size written in decimal. */

const decimal = /^(0|[1-9]\d*)$/;

/** Negative when `a` is older than `b`; undefined when either is not a number, and so has no order. */
export function compareResourceVersions(a: string, b: string): number | undefined {
  if (a === b) return 0;
  if (!decimal.test(a) || !decimal.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}
