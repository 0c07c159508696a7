/** Makes a composition true: applies what should be, in order, and prunes what should not. */

import { type AnyKind, groupKind, objectKey, type Stored } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import type { InventoryEntry } from "@keelson/schema";
import {
  type Composition,
  type Controller,
  keep,
  predecessors,
  slotOrder,
} from "../controller/controller.ts";
import type { Owned, Owns } from "../controller/declaration.ts";
import { done, type Failed, type Outcome, type Waiting, waiting } from "../controller/outcome.ts";
import { RuntimeError } from "../errors.ts";
import type { Applier } from "./applier.ts";
import { type ChildId, childKey } from "./child-body.ts";
import { keyOfChild, type OwnedChildren } from "./owned-children.ts";
import { readinessOf } from "./readiness.ts";

type AnyComposition = Composition<AnyKind, Owns>;

/** A child that a composition names; `desired` is absent when it is to be left as it is. */
interface DesiredChild {
  readonly id: ChildId;
  readonly desired: object | undefined;
}

export function isOutcome(value: AnyComposition | Outcome): value is Outcome {
  return typeof (value as { outcome?: unknown }).outcome === "string";
}

/** How a controller's `compose` is run: each call sees the children as they are by then. */
export type RunCompose = () => AnyComposition | Waiting | Failed;

/**
 * Runs `compose`, makes its composition true, and says how the object stands. Where that changed children, it does both
 * once more: status must speak of what was just made and not of what was there before, because a child that was
 * replaced is not ready only because its predecessor was.
 */
export async function composeAndRealise(
  parts: CompositionParts,
  compose: RunCompose,
  setStatus: (status: object) => void,
): Promise<Outcome> {
  const { children } = parts;
  for (let pass = 1; ; pass++) {
    const composed = compose();
    if (isOutcome(composed)) return composed;
    if (composed.status) setStatus(composed.status);
    const before = children.versions();
    const outcome = await realise(parts, composed);
    if (pass === 2 || children.versions() === before) return outcome;
  }
}

/** What a composition is made true with. */
export interface CompositionParts {
  readonly controller: Controller;
  readonly owner: Stored;
  readonly children: OwnedChildren;
  readonly applier: Applier;
}

/**
 * Applies and prunes, and says how the object stands. An error of one child does not keep the others from being
 * applied, but nothing is pruned then, and nothing is made that comes after it.
 */
async function realise(parts: CompositionParts, composition: AnyComposition): Promise<Outcome> {
  const { controller, owner, children, applier } = parts;
  const desiredChildren = desiredBySlot(controller, composition);
  refuseSameNames(controller, owner, desiredChildren);
  const errors: unknown[] = [];
  const held: string[] = [];
  for (const slot of slotOrder(controller.owns)) {
    const declared = controller.owns[slot] as Owned;
    const blockers = predecessors(declared).flatMap((before) =>
      unready(controller, children, desiredChildren.get(before) ?? [], before),
    );
    for (const { id, desired } of desiredChildren.get(slot) ?? []) {
      if (!desired) continue;
      if (blockers.length > 0 && !children.at(slot, childKey(declared, owner, id, desired))) {
        held.push(...blockers);
        continue;
      }
      try {
        const child = await applier.apply(id, desired);
        // Whatever it still says of itself, it is not the child that should be: that one comes after it.
        if (child.metadata.deletionTimestamp !== undefined) {
          held.push(`${groupKind(declared.kind)} ${child.metadata.name} is being deleted`);
        }
      } catch (error) {
        errors.push(error);
      }
    }
  }
  if (errors.length > 0) throw asOne(errors);
  await prune(parts, desiredChildren);
  return outcomeOf(controller, children, composition, desiredChildren, held);
}

/** Deletes what earlier releases left in slots that are retired now. */
export async function pruneRetired(
  controller: Controller,
  children: OwnedChildren,
  applier: Applier,
): Promise<void> {
  for (const [slot, declared] of Object.entries(controller.owns)) {
    if (!declared.retired) continue;
    for (const child of children.inSlot(slot)) {
      if (child.metadata.deletionTimestamp === undefined) await applier.delete(declared, child);
    }
  }
}

function desiredBySlot(controller: Controller, composition: AnyComposition): Map<string, DesiredChild[]> {
  const desiredChildren = new Map<string, DesiredChild[]>();
  for (const [slot, value] of Object.entries(composition.children)) {
    const declared = controller.owns[slot];
    if (!declared || declared.retired) {
      throw new RuntimeError(
        "NotDeclared",
        `compose returned children for "${slot}", which is ${declared ? "a retired" : "no"} slot of controller ` +
          `"${controller.name}"; its slots are: ${Object.keys(controller.owns).join(", ")}`,
      );
    }
    if (value === undefined) continue;
    if (value === keep) desiredChildren.set(slot, [{ id: { slot, key: keepAll }, desired: undefined }]);
    else if (!declared.many) desiredChildren.set(slot, [{ id: { slot, key: "" }, desired: value as object }]);
    else {
      desiredChildren.set(
        slot,
        Object.entries(value as Record<string, object | typeof keep | undefined>)
          .filter(([, desired]) => desired !== undefined)
          .map(([key, desired]) => ({
            id: { slot, key },
            desired: desired === keep ? undefined : (desired as object),
          })),
      );
    }
  }
  return desiredChildren;
}

/** Stands for every key of a slot that is kept as a whole. No label value contains an asterisk. */
const keepAll = "*";

function refuseSameNames(
  controller: Controller,
  owner: Stored,
  desiredChildren: ReadonlyMap<string, readonly DesiredChild[]>,
): void {
  const taken = new Map<string, string>();
  for (const [slot, list] of desiredChildren) {
    const declared = controller.owns[slot] as Owned;
    for (const { id, desired } of list) {
      if (!desired) continue;
      const name = `${groupKind(declared.kind)} ${childKey(declared, owner, id, desired)}`;
      const other = taken.get(name);
      if (other !== undefined) {
        throw new RuntimeError(
          "InvalidChild",
          `slots "${other}" and "${slot}" both make ${name}; give one of them a metadata.name of its own`,
        );
      }
      taken.set(name, slot);
    }
  }
}

/** The children in a slot that are not ready, as sentences. */
function unready(
  controller: Controller,
  children: OwnedChildren,
  desiredChildren: readonly DesiredChild[],
  slot: string,
): string[] {
  const declared = controller.owns[slot] as Owned;
  const out: string[] = [];
  for (const { id } of desiredChildren) {
    const all = id.key === keepAll ? children.inSlot(slot) : [children.get(id)];
    for (const child of all) {
      if (!child) {
        out.push(`${groupKind(declared.kind)} "${id.key || slot}" is not made yet`);
        continue;
      }
      const { ready, message } = declared.options.ready
        ? { ready: declared.options.ready(child as never), message: "is not ready" }
        : readinessOf(declared.kind, child);
      const gone = child.metadata.deletionTimestamp !== undefined;
      if (!ready || gone) {
        out.push(`${groupKind(declared.kind)} ${child.metadata.name} ${gone ? "is being deleted" : message}`);
      }
    }
  }
  return out;
}

async function prune(
  { controller, owner, children, applier }: CompositionParts,
  desiredChildren: ReadonlyMap<string, readonly DesiredChild[]>,
): Promise<void> {
  for (const [slot, declared] of Object.entries(controller.owns)) {
    if (declared.retired || absenceOf(declared) === "keep") continue;
    const wanted = desiredChildren.get(slot) ?? [];
    if (wanted.some(({ id }) => id.key === keepAll)) continue;
    const keys = new Set(
      wanted.flatMap(({ id, desired }) => (desired ? [childKey(declared, owner, id, desired)] : [])),
    );
    const kept = new Set(wanted.filter(({ desired }) => !desired).map(({ id }) => id.key));
    for (const child of children.inSlot(slot)) {
      if (keys.has(objectKey(child)) || kept.has(keyOfChild(child))) continue;
      if (child.metadata.deletionTimestamp === undefined) await applier.delete(declared, child);
    }
  }
}

function absenceOf(slot: Owned): "delete" | "keep" {
  return slot.options.absent ?? (groupKind(slot.kind) === "PersistentVolumeClaim" ? "keep" : "delete");
}

function outcomeOf(
  controller: Controller,
  children: OwnedChildren,
  composition: AnyComposition,
  desiredChildren: ReadonlyMap<string, readonly DesiredChild[]>,
  held: readonly string[],
): Outcome {
  const { outcome } = composition;
  if (held.length > 0 && (!outcome || outcome.outcome === "done")) {
    return waiting("ChildrenNotReady", `${held[0]}; others come after it`);
  }
  if (outcome) return outcome;
  const missing = [...desiredChildren].flatMap(([slot, list]) => unready(controller, children, list, slot));
  if (missing.length === 0) return done();
  const more = missing.length > 1 ? `, and ${missing.length - 1} more` : "";
  return waiting("ChildrenNotReady", `${missing[0]}${more}`);
}

function asOne(errors: readonly unknown[]): unknown {
  if (errors.length === 1) return errors[0];
  const first = errors[0];
  // The first decides how it is treated; the others are told.
  if (first instanceof RuntimeError) {
    const rest = errors.slice(1).map((error) => errorText(error));
    return new RuntimeError(first.code, [first.message, ...rest].join("; and "), { cause: first });
  }
  return first;
}

/** What the inventory says of the children that are there. */
export function inventoryOf(controller: Controller, children: OwnedChildren): InventoryEntry[] {
  const entries: InventoryEntry[] = [];
  for (const slot in controller.owns) {
    const { kind } = controller.owns[slot] as Owned;
    for (const child of children.inSlot(slot)) {
      const key = keyOfChild(child);
      entries.push({
        slot,
        ...(key === "" ? undefined : { key }),
        ...(kind.group === "" ? undefined : { group: kind.group }),
        kind: kind.kind,
        name: child.metadata.name,
        uid: child.metadata.uid,
      });
    }
  }
  return entries;
}
