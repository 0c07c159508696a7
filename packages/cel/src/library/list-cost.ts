/** Cost rules that several list functions share. */
import { byteLength } from "@keelson/core/internal";
import { type CostNode, stringTraversalFactor } from "../check/cost.ts";
import type { CostModel } from "../check/functions.ts";
import { fixed, plus, scale, times } from "../values/cost-range.ts";
import { effort } from "../values/effort.ts";
import { CelList, CelMap, type CelValue } from "../values/values.ts";

/** The elements of a list, as a node whose size may be known from the schema. */
export function elementOf(list: CostNode): CostNode | undefined {
  const [type] = list.type.params;
  if (type === undefined) return undefined;
  return {
    path: list.path === undefined ? undefined : [...list.path, "@items"],
    type,
    expr: undefined,
    size: undefined,
  };
}

/** Reading a whole tree of values once. */
export function treeCost(value: CelValue): number {
  if (typeof value === "string") return Math.trunc(byteLength(value) * stringTraversalFactor);
  if (value instanceof Uint8Array) return Math.trunc(value.length * stringTraversalFactor);
  let cost = 0;
  if (value instanceof CelList) {
    effort.steps += value.size;
    for (const element of value) cost += treeCost(element);
    return cost;
  }
  if (value instanceof CelMap) {
    effort.steps += value.size;
    for (const key of value.keys()) cost += treeCost(key) + treeCost(value.find(key) ?? null);
    return cost;
  }
  return 1;
}

/** Functions that look at every element once: sum, min, max, isSorted, indexOf, also on strings. */
export const collectionCost: CostModel = {
  before: (args) => treeCost(args[0] as CelValue),
  estimate: ({ target, size }) => {
    if (target === undefined) return undefined;
    const element = elementOf(target);
    if (element === undefined) return scale(size(target), stringTraversalFactor);
    const textual = element.type.kind === "string" || element.type.kind === "bytes";
    const each = textual ? plus(fixed(1), scale(size(element), stringTraversalFactor)) : fixed(1);
    return times(size(target), each);
  },
};
