/** How many pods the owners of pods want, whatever kinds they are. */
import { type Client, isNotFound } from "@keelson/client";
import { groupKind, type ObjectOf, type OwnerReference, objectKey, parseApiVersion } from "@keelson/core";
import type { Deployment, ReplicaSet, ReplicationController, StatefulSet } from "@keelson/core/kinds";
import type { CacheReader } from "@keelson/runtime/internal";
import type { PodObject } from "@keelson/workloads";
import { ControllerError } from "../acting/errors.ts";
import { controllerOfObject } from "../ownership/owner-reference.ts";

export interface OwnerCaches {
  readonly deployments: CacheReader<ObjectOf<typeof Deployment>>;
  readonly replicaSets: CacheReader<ObjectOf<typeof ReplicaSet>>;
  readonly statefulSets: CacheReader<ObjectOf<typeof StatefulSet>>;
  readonly replicationControllers: CacheReader<ObjectOf<typeof ReplicationController>>;
}

interface Scale {
  readonly uid: string;
  readonly replicas: number;
}

export interface TotalScale {
  readonly total: number;
  /** Pods that no controller made: nobody says how many of them there should be. */
  readonly unmanaged: readonly string[];
}

/** The sum over all controllers of these pods. Throws for a pod whose controller has no scale. */
export async function totalScale(
  pods: readonly PodObject[],
  caches: OwnerCaches,
  client: Client,
): Promise<TotalScale> {
  const scales = new Map<string, number>();
  const looked = new Set<string>();
  const unmanaged: string[] = [];
  for (const pod of pods) {
    const owner = controllerOfObject(pod);
    if (!owner) unmanaged.push(pod.metadata.name);
    if (!owner || looked.has(owner.uid)) continue;
    looked.add(owner.uid);
    const scale =
      builtinScale(owner, pod.metadata.namespace ?? "", caches) ??
      (await customScale(owner, pod.metadata.namespace ?? "", client));
    if (!scale) {
      const name = JSON.stringify(pod.metadata.name);
      throw new ControllerError("Incomplete", `found no controllers for pod ${name}`);
    }
    scales.set(scale.uid, scale.replicas);
  }
  return { total: [...scales.values()].reduce((sum, each) => sum + each, 0), unmanaged };
}

interface Scaled {
  readonly metadata: { readonly uid: string };
  readonly spec: { readonly replicas?: number };
}

function builtinScale(owner: OwnerReference, namespace: string, caches: OwnerCaches): Scale | undefined {
  const found = ownerAmong(owner, namespace, caches);
  if (found?.metadata.uid !== owner.uid) return undefined;
  if (owner.kind === "ReplicaSet") {
    // The sets of a Deployment share its number.
    const above = controllerOfObject(found as ObjectOf<typeof ReplicaSet>);
    if (above?.kind === "Deployment") {
      const deployment = caches.deployments.get(objectKey({ metadata: { namespace, name: above.name } }));
      return deployment?.metadata.uid === above.uid ? scaleOf(deployment) : undefined;
    }
  }
  return scaleOf(found);
}

function scaleOf({ metadata, spec }: Scaled): Scale {
  return { uid: metadata.uid, replicas: spec.replicas ?? 1 };
}

function ownerAmong(owner: OwnerReference, namespace: string, caches: OwnerCaches): Scaled | undefined {
  const key = objectKey({ metadata: { namespace, name: owner.name } });
  switch (groupKind({ group: parseApiVersion(owner.apiVersion).group, kind: owner.kind })) {
    case "ReplicationController":
      return caches.replicationControllers.get(key);
    case "ReplicaSet.apps":
      return caches.replicaSets.get(key);
    case "StatefulSet.apps":
      return caches.statefulSets.get(key);
    default:
      return undefined;
  }
}

/** What the owner's scale subresource says, for kinds of which we know only that they have one. */
async function customScale(
  owner: OwnerReference,
  namespace: string,
  client: Client,
): Promise<Scale | undefined> {
  const kind = await client.discover(owner.apiVersion, owner.kind);
  const ref = { name: owner.name, namespace };
  try {
    const scale = (await client.kind(kind).subresource("scale").get(ref)) as unknown as Scaled;
    return scale.metadata.uid === owner.uid
      ? { uid: owner.uid, replicas: scale.spec.replicas ?? 0 }
      : undefined;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  if ((await client.kind(kind).find(ref)) === undefined) return undefined;
  const resource = kind.group ? `${kind.resource}.${kind.group}` : kind.resource;
  throw new ControllerError("InvalidObject", `${resource} does not implement the scale subresource`);
}
