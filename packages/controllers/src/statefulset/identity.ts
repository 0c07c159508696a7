/** Who a pod of a stateful set is: its ordinal, its names, its claims. */
import { deepCopy, type InputOf, type ObjectOf } from "@keelson/core";
import { type PersistentVolumeClaim, StatefulSet, type Volume } from "@keelson/core/kinds";
import type { PodObject } from "@keelson/workloads";
import { controllerReference } from "../ownership/owner-reference.ts";
import { type NewPod, podFromTemplate } from "../pods/pod-from-template.ts";

export type StatefulSetObject = ObjectOf<typeof StatefulSet>;
export type NewClaim = InputOf<typeof PersistentVolumeClaim> & { metadata: { name: string } };

export const revisionLabel = "controller-revision-hash";
const podNameLabel = "statefulset.kubernetes.io/pod-name";
const podIndexLabel = "apps.kubernetes.io/pod-index";

const named = /^(.*)-(\d+)$/;

/** The set's name and the pod's ordinal, as the pod's name tells; -1 when it tells none. */
export function parentAndOrdinal(podName: string): { parent: string; ordinal: number } {
  const match = named.exec(podName);
  return match ? { parent: match[1] ?? "", ordinal: Number(match[2]) } : { parent: "", ordinal: -1 };
}

export function ordinalOf({ metadata }: { readonly metadata: { readonly name?: string } }): number {
  return parentAndOrdinal(metadata.name ?? "").ordinal;
}

export function isMemberOf(set: StatefulSetObject, pod: PodObject): boolean {
  return parentAndOrdinal(pod.metadata.name).parent === set.metadata.name;
}

export function startOrdinal({ spec }: StatefulSetObject): number {
  return spec.ordinals?.start ?? 0;
}

export function replicasOf({ spec }: StatefulSetObject): number {
  return spec.replicas ?? 1;
}

/** Whether the set wants a pod with this ordinal. */
export function isInRange(set: StatefulSetObject, ordinal: number): boolean {
  const start = startOrdinal(set);
  return ordinal >= start && ordinal < start + replicasOf(set);
}

export function claimName(set: StatefulSetObject, template: string, ordinal: number): string {
  return `${template}-${set.metadata.name}-${ordinal}`;
}

/** The claims of the pod with this ordinal, by the name of their template. */
export function claimsFor(set: StatefulSetObject, ordinal: number): Map<string, NewClaim> {
  const claims = new Map<string, NewClaim>();
  for (const template of set.spec.volumeClaimTemplates ?? []) {
    const name = template.metadata?.name ?? "";
    const { status: _, ...claim } = deepCopy(template) as NewClaim;
    claims.set(name, {
      ...claim,
      metadata: {
        ...claim.metadata,
        name: claimName(set, name, ordinal),
        namespace: set.metadata.namespace,
        labels: { ...claim.metadata.labels, ...set.spec.selector.matchLabels },
      },
    });
  }
  return claims;
}

function identityLabels(name: string, ordinal: number): Record<string, string> {
  return { [podNameLabel]: name, [podIndexLabel]: String(ordinal) };
}

function volumesWithClaims(
  set: StatefulSetObject,
  ordinal: number,
  volumes: readonly Volume[] | undefined,
): Volume[] {
  const claims = claimsFor(set, ordinal);
  const claimed = [...claims].map(([name, claim]) => ({
    name,
    persistentVolumeClaim: { claimName: claim.metadata.name },
  }));
  return [...claimed, ...(volumes ?? []).filter(({ name }) => !claims.has(name))];
}

/** The pod with this ordinal, from a template of one revision. */
export function newPod(
  set: StatefulSetObject,
  template: StatefulSetObject["spec"]["template"],
  revision: string,
  ordinal: number,
): NewPod {
  const pod = podFromTemplate(template, set.metadata);
  const name = `${set.metadata.name}-${ordinal}`;
  const volumes = volumesWithClaims(set, ordinal, pod.spec.volumes);
  return {
    metadata: {
      ...pod.metadata,
      name,
      labels: { ...pod.metadata.labels, ...identityLabels(name, ordinal), [revisionLabel]: revision },
      ownerReferences: [controllerReference(set, StatefulSet)],
    },
    spec: {
      ...pod.spec,
      hostname: name,
      ...(set.spec.serviceName ? { subdomain: set.spec.serviceName } : {}),
      ...(volumes.length > 0 ? { volumes } : {}),
    },
  };
}

export function hasIdentity(pod: PodObject): boolean {
  return pod.metadata.labels?.[podNameLabel] === pod.metadata.name;
}

export function hasStorage(set: StatefulSetObject, pod: PodObject): boolean {
  const ordinal = ordinalOf(pod);
  return [...claimsFor(set, ordinal)].every(([name, claim]) =>
    pod.spec.volumes?.some(
      (volume) => volume.name === name && volume.persistentVolumeClaim?.claimName === claim.metadata.name,
    ),
  );
}

/** The pod with the labels and volumes that its ordinal demands. */
export function repaired(set: StatefulSetObject, pod: PodObject): PodObject {
  const ordinal = ordinalOf(pod);
  const labels = { ...pod.metadata.labels, ...identityLabels(pod.metadata.name, ordinal) };
  const volumes = hasStorage(set, pod) ? pod.spec.volumes : volumesWithClaims(set, ordinal, pod.spec.volumes);
  return {
    ...pod,
    metadata: { ...pod.metadata, labels },
    spec: { ...pod.spec, ...(volumes ? { volumes } : {}) },
  };
}

export function revisionOf({ metadata }: Pick<PodObject, "metadata">): string {
  return metadata.labels?.[revisionLabel] ?? "";
}
