/** From a desired child to the body that is applied: name, namespace, owner and labels. */

import { hash } from "node:crypto";
import {
  type AnyKind,
  apiVersionOf,
  groupKind,
  type JsonObject,
  keyOf,
  type ObjectMeta,
  type OwnerReference,
  type Stored,
  validateLabelValue,
} from "@keelson/core";
import { jsonProblem } from "@keelson/core/internal";
import type { Controller } from "../controller/controller.ts";
import type { Owned } from "../controller/declaration.ts";
import {
  controllerLabel,
  keyLabel,
  ownerLabel,
  ownerNamespaceLabel,
  slotLabel,
} from "../controller/labels.ts";
import { RuntimeError } from "../errors.ts";

/** Which child of which slot. `key` is empty in a slot for one. */
export interface ChildId {
  readonly slot: string;
  readonly key: string;
}

export interface ChildBody extends JsonObject {
  apiVersion: string;
  kind: string;
  metadata: JsonObject & { name: string; namespace?: string };
}

/** The owner's name where a label can hold it, and a digest of it where not. */
export function ownerLabelValue(name: string): string {
  return name.length <= 63
    ? name
    : `${name.slice(0, 46).replace(/[^a-z0-9]+$/, "")}-${hash("sha256", name).slice(0, 16)}`;
}

/** Whether a label's value may stand for a name that was too long for it. */
export function isShortened(label: string): boolean {
  return /-[0-9a-f]{16}$/.test(label);
}

function defaultName({ options }: Owned, owner: Stored, { key }: ChildId): string {
  if (options.name) return options.name(owner, key);
  return key === "" ? owner.metadata.name : `${owner.metadata.name}-${key}`;
}

/** The name under which a desired child is found. */
function childName(slot: Owned, owner: Stored, id: ChildId, desired: { metadata?: ObjectMeta }): string {
  return desired.metadata?.name ?? defaultName(slot, owner, id);
}

/** `namespace/name` under which a desired child is found. */
export function childKey(
  slot: Owned,
  owner: Stored,
  id: ChildId,
  desired: { metadata?: ObjectMeta },
): string {
  const namespace =
    slot.kind.scope === "Cluster" ? undefined : (desired.metadata?.namespace ?? owner.metadata.namespace);
  return keyOf({ namespace, name: childName(slot, owner, id, desired) });
}

export function childBody(
  controller: Controller,
  owner: Stored,
  id: ChildId,
  desired: { metadata?: ObjectMeta },
): ChildBody {
  const slot = controller.owns[id.slot] as Owned;
  const { kind, options } = slot;
  const label = describeChild(kind, id);
  if (id.key !== "") {
    const problems = validateLabelValue(id.key);
    if (problems.length > 0) {
      throw new RuntimeError(
        "InvalidChild",
        `the key ${JSON.stringify(id.key)} of ${label} cannot be a label value: ${problems.join("; ")}`,
      );
    }
  }
  const problem = jsonProblem(desired, "");
  if (problem !== undefined) throw new RuntimeError("InvalidChild", `${label} cannot be sent: ${problem}`);
  const namespace = namespaceOf(slot, owner, desired, label);
  const { metadata = {}, ...rest } = desired as { metadata?: ObjectMeta } & JsonObject;
  const labels: Record<string, string> = {
    ...metadata.labels,
    [controllerLabel]: controller.name,
    [slotLabel]: id.slot,
    ...(id.key === "" ? {} : { [keyLabel]: id.key }),
    ...(options.outlives ? ownerLabels(owner, namespace) : {}),
  };
  const references = options.outlives
    ? (metadata.ownerReferences ?? [])
    : [ownerReference(controller.kind, owner), ...(metadata.ownerReferences ?? [])];
  return {
    ...rest,
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: {
      name: childName(slot, owner, id, desired),
      ...(namespace === undefined ? {} : { namespace }),
      labels,
      ...(metadata.annotations ? { annotations: metadata.annotations } : {}),
      ...(metadata.finalizers ? { finalizers: metadata.finalizers } : {}),
      ...(references.length === 0 ? {} : { ownerReferences: references as unknown as JsonObject[] }),
    },
  };
}

export function ownerReference(kind: AnyKind, owner: Stored): OwnerReference {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** What binds a child without owner reference, in the namespace that it lives in. */
export function ownerLabels(owner: Stored, namespace: string | undefined): Record<string, string> {
  const { name, namespace: home } = owner.metadata;
  return {
    [ownerLabel]: ownerLabelValue(name),
    ...(home === undefined || home === namespace ? {} : { [ownerNamespaceLabel]: home }),
  };
}

function namespaceOf(
  { kind, options }: Owned,
  owner: Stored,
  desired: { metadata?: ObjectMeta },
  label: string,
): string | undefined {
  if (kind.scope === "Cluster") return undefined;
  const home = owner.metadata.namespace;
  const wanted = desired.metadata?.namespace ?? home;
  if (wanted === undefined) {
    throw new RuntimeError(
      "InvalidChild",
      `${label} needs a namespace: its owner ${owner.metadata.name} is cluster-scoped and has none to give`,
    );
  }
  if (home !== undefined && wanted !== home && !options.outlives) {
    throw new RuntimeError(
      "InvalidChild",
      `${label} cannot live in namespace ${wanted}: an owner in ${home} can only own objects beside it, ` +
        "Kubernetes would collect the child as garbage; declare the slot with outlives: true and delete the child in " +
        "finalize",
    );
  }
  return wanted;
}

/** `Pod "pods/member-0"`, for messages. */
export function describeChild(kind: AnyKind, id: ChildId): string {
  return `${groupKind(kind)} "${id.key === "" ? id.slot : `${id.slot}/${id.key}`}"`;
}
