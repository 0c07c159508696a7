/** The Lease by which the instances agree: the operator writes the policy into it, and nothing else. */
import type { InputOf } from "keelson";
import { Quantity } from "keelson";
import type { Lease } from "keelson/kinds";
import type { DatabaseObject } from "../api/database.ts";
import { annotations } from "../api/names.ts";
import { leaseName, policyAnnotation } from "../ha/lease-object.ts";
import { dataUidOf, type LeaseRecord, type Policy } from "../ha/state.ts";
import { databaseName, selectorLabels } from "./names.ts";
import { settable } from "./parameters.ts";

export function policyFor(
  object: DatabaseObject,
  instances: readonly string[],
  record: LeaseRecord | undefined,
  existing: readonly string[],
  versions: Pick<Policy, "version" | "upgrade" | "abortedUpgrade" | "closed"> = {},
): Policy {
  const { spec, metadata } = object;
  const notes = metadata.annotations ?? {};
  const wish = notes[annotations.switchover];
  const approval = approvalOf(notes[annotations.approveFailover]);
  const back = notes[annotations.approveReturn] ?? "";
  const [to] = wish?.split("@") ?? [];
  const first = `${metadata.name}-0`;
  const found = record?.published.systemId === undefined ? existing.filter((name) => name !== first) : [];
  return {
    instances: [...instances],
    durability: spec.durability,
    databaseUid: dataUidOf(record, object),
    initialInstance: first,
    ...(found.length > 0 && { found }),
    parameters: settable(spec),
    maximumLagBytes: Quantity.from(spec.failover.maximumLag).toNumber(),
    ...(wish !== undefined && { switchover: { id: wish, ...(to !== "any" && to !== undefined && { to }) } }),
    ...(approval && { approval }),
    ...(/^[0-9]+$/.test(back) && { approvedReturn: Number(back) }),
    ...(spec.hibernate && { hibernate: true }),
    ...(spec.paused && { paused: true }),
    ...(spec.pooler && { pooler: true }),
    ...versions,
  };
}

/** `3` or `3/orders-1`. */
function approvalOf(text: string | undefined): Policy["approval"] {
  const match = /^([0-9]+)(?:\/([a-z0-9.-]+))?$/.exec(text ?? "");
  if (!match) return undefined;
  return { epoch: Number(match[1]), ...(match[2] !== undefined && { instance: match[2] }) };
}

export function leaseRef(object: DatabaseObject): { readonly namespace: string; readonly name: string } {
  const { namespace, name } = databaseName(object);
  return { namespace, name: leaseName(name) };
}

export function leaseFor(object: DatabaseObject, policy: Policy): InputOf<typeof Lease> {
  const database = databaseName(object);
  return {
    metadata: {
      ...leaseRef(object),
      labels: selectorLabels(database),
      annotations: { [policyAnnotation]: JSON.stringify(policy) },
    },
    spec: { leaseDurationSeconds: object.spec.failover.leaseSeconds },
  };
}
