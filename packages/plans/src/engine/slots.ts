/** Kinds that steps touch, as slots of a controller. */
import { createHash } from "node:crypto";
import { type AnyKind, apiVersionOf, groupKind } from "@keelson/core";
import type { CallOptions } from "@keelson/hooks";
import { PlanError } from "../errors.ts";

/** One kind under its slot. */
export interface Slot {
  readonly name: string;
  readonly kind: AnyKind;
}

/** The kinds of a controller's plans, and how its hooks are called. */
export interface Slots {
  readonly all: readonly Slot[];
  readonly calls: CallOptions;
}

export function slotsOf(kinds: readonly AnyKind[], calls: CallOptions): Slots {
  const all = new Map<string, Slot>();
  for (const kind of kinds) {
    const name = groupKind(kind).toLowerCase().slice(0, 63);
    if (!all.has(name)) all.set(name, { name, kind });
  }
  return { all: [...all.values()], calls };
}

export function slotOf({ all }: Slots, apiVersion: string, kind: string): Slot {
  const found = all.find((each) => each.kind.kind === kind && apiVersionOf(each.kind) === apiVersion);
  if (found) return found;
  throw new PlanError(
    "InvalidDefinition",
    `a step names ${kind} of ${apiVersion}, which is none of the kinds of its plans: ` +
      all.map((each) => `${each.kind.kind} of ${apiVersionOf(each.kind)}`).join(", "),
  );
}

/** A name as a label can hold it. */
export function keyOfName(name: string): string {
  if (name.length <= 63) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 16);
  return `${name.slice(0, 46).replace(/[^a-z0-9]+$/, "")}-${digest}`;
}
