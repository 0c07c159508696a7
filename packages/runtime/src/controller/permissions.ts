/** What a controller may do, from its declaration: the source of the runtime check and of the Role. */
import { type AnyKind, groupKind } from "@keelson/core";
import { RuntimeError } from "../errors.ts";
import type { Controller } from "./controller.ts";
import type { Verb } from "./declaration.ts";
import type { RawController } from "./raw-controller.ts";

/** A controller of either level. */
export type AnyController = Controller | RawController;

/** One permission that follows from a declaration. */
export interface Permission {
  readonly kind: AnyKind;
  readonly subresource?: string;
  readonly verbs: readonly Verb[];
  /** Only these objects. */
  readonly names?: readonly string[];
  /** Needed by the runtime itself; a reconcile does not get it. */
  readonly internal?: boolean;
}

const reading: readonly Verb[] = ["get", "list", "watch"];
const owning: readonly Verb[] = ["get", "list", "watch", "create", "patch", "delete"];

export function isRaw(controller: AnyController): controller is RawController {
  return "role" in controller && controller.role === "raw";
}

/** Every permission that follows from a controller's declaration. */
export function permissionsOf(controller: AnyController): Permission[] {
  const out: Permission[] = [];
  if (isRaw(controller)) {
    for (const { kind } of Object.values(controller.watches)) out.push({ kind, verbs: reading });
  } else {
    const { kind } = controller;
    out.push({ kind, verbs: reading });
    if (controller.options.status !== "manual") {
      out.push({ kind, subresource: "status", verbs: ["patch"], internal: true });
    }
    if (controller.finalize) out.push({ kind, verbs: ["patch"], internal: true });
    const owned = Object.values(controller.owns);
    // Where the server checks blockOwnerDeletion, setting it asks for this.
    if (owned.some((slot) => !slot.options.outlives && !slot.retired)) {
      out.push({ kind, subresource: "finalizers", verbs: ["update"], internal: true });
    }
    for (const slot of owned) {
      out.push({ kind: slot.kind, verbs: slot.retired ? [...reading, "delete"] : owning });
    }
    if (controller.options.decorates) out.push({ kind, verbs: ["patch"], internal: true });
    for (const read of Object.values(controller.reads)) {
      if (read.role !== "poll") out.push({ kind: read.kind, verbs: reading });
    }
  }
  for (const { kind, verbs, subresource, names } of controller.writes) {
    out.push({
      kind,
      verbs,
      ...(subresource === undefined ? {} : { subresource }),
      ...(names === undefined ? {} : { names }),
    });
  }
  return out;
}

/** Answers whether a reconcile may do what it is about to do. */
export class PermissionCheck {
  readonly #name: string;
  readonly #permissions: readonly Permission[];

  constructor(controller: AnyController) {
    this.#name = controller.name;
    this.#permissions = permissionsOf(controller).filter((permission) => !permission.internal);
  }

  /** Throws an error that names the declaration to add. */
  require(verb: Verb, kind: AnyKind, subresource: string | undefined, name: string | undefined): void {
    const matching = this.#permissions.filter(
      (permission) =>
        permission.kind.group === kind.group &&
        permission.kind.kind === kind.kind &&
        permission.subresource === subresource &&
        permission.verbs.includes(verb),
    );
    if (matching.some(({ names }) => !names || (name !== undefined && names.includes(name)))) return;
    const target = subresource === undefined ? groupKind(kind) : `${groupKind(kind)}/${subresource}`;
    const wish =
      subresource === undefined
        ? `allow(${kind.kind}, ["${verb}"])`
        : `allowSubresource(${kind.kind}, "${subresource}", ["${verb}"])`;
    const only = matching.flatMap(({ names }) => names ?? []);
    throw new RuntimeError(
      "NotDeclared",
      only.length > 0
        ? `controller "${this.#name}" may ${verb} ${target} only by these names: ${only.join(", ")}; ` +
            `add the name to its declaration to ${verb} ${name ?? "all of them"}`
        : `controller "${this.#name}" does not declare "${verb}" on ${target}; add ${wish} to its writes`,
    );
  }
}
