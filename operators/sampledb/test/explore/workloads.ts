/** StatefulSets and Jobs of a simulation: pods are made again when they are gone, and Jobs end with theirs. */
import type { PodObject, World } from "@keelson/testing";
import type { ObjectOf } from "keelson";
import { Job, Pod, type StatefulSet } from "keelson/kinds";
import type { SimRedis } from "./application.ts";

type SetObject = ObjectOf<typeof StatefulSet>;
type JobObject = ObjectOf<typeof Job>;

const delayMs = 100;
/** By which the explorer finds the pods of an operator. */
const found = { "keelson.dev/controller": "sampledb" };

/** Works for as long as the world is played. */
export function startWorkloads(world: World<SimRedis>): void {
  let waiting = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    world.clock.timer(delayMs, () => {
      waiting = false;
      void look(world).catch((error: unknown) => {
        world.note(`workloads: ${(error as Error).message}`);
        soon();
      });
    });
  };
  for (const resource of ["apps/statefulsets", "batch/jobs", "pods"]) world.stored.subscribe(resource, soon);
  soon();
}

async function look(world: World<SimRedis>): Promise<void> {
  const { namespace } = world.subject.ref;
  const pods = world.stored.list("pods", namespace) as unknown as PodObject[];
  for (const set of world.stored.list("apps/statefulsets", namespace) as unknown as SetObject[])
    await lookAtSet(world, set, pods);
  for (const job of world.stored.list("batch/jobs", namespace) as unknown as JobObject[])
    await lookAtJob(world, job, pods);
}

async function lookAtSet(world: World<SimRedis>, set: SetObject, pods: readonly PodObject[]): Promise<void> {
  const { name, namespace = "", uid, deletionTimestamp } = set.metadata;
  if (deletionTimestamp !== undefined) return;
  const wanted = set.spec?.replicas ?? 1;
  for (let ordinal = 0; ordinal < wanted; ordinal++) {
    const pod = `${name}-${ordinal}`;
    if (pods.some(({ metadata }) => metadata.name === pod)) continue;
    const { metadata, spec } = set.spec?.template ?? {};
    const data = { name: "data", persistentVolumeClaim: { claimName: `data-${pod}` } };
    await tolerant(
      world.client.kind(Pod).create({
        metadata: {
          name: pod,
          namespace,
          labels: { ...metadata?.labels, ...found },
          annotations: { ...metadata?.annotations },
          ownerReferences: [ownerReference("apps/v1", "StatefulSet", set.metadata)],
        },
        spec: { ...spec, hostname: pod, volumes: [...(spec?.volumes ?? []), data] } as never,
      }),
    );
  }
  const selected = Object.entries(set.spec?.selector?.matchLabels ?? {});
  for (const { metadata } of pods) {
    const [, setName, digits = "-1"] = /^(.*)-(\d+)$/.exec(metadata.name) ?? [];
    const ordinal = Number(digits);
    const owner = metadata.ownerReferences?.find(({ controller }) => controller);
    if (setName === name && !owner && selected.every(([key, value]) => metadata.labels?.[key] === value))
      await tolerant(adopt(world, set, metadata.name));
    if (owner?.uid === uid && ordinal >= wanted && metadata.deletionTimestamp === undefined)
      await tolerant(world.client.kind(Pod).delete({ namespace, name: metadata.name }));
  }
}

/** A pod that lost its owner is the set's again. */
async function adopt(world: World<SimRedis>, set: SetObject, pod: string): Promise<void> {
  const { namespace = "" } = set.metadata;
  const ownerReferences = [ownerReference("apps/v1", "StatefulSet", set.metadata)];
  await world.client
    .kind(Pod)
    .patch({ namespace, name: pod }, { type: "merge", body: { metadata: { ownerReferences } } });
}

async function lookAtJob(world: World<SimRedis>, job: JobObject, pods: readonly PodObject[]): Promise<void> {
  const { name, namespace = "", uid, deletionTimestamp } = job.metadata;
  const over = job.status?.conditions?.some(({ type }) => type === "Complete" || type === "Failed");
  if (deletionTimestamp !== undefined || over) return;
  const own = pods.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid));
  const failed = own.filter(({ status }) => status?.phase === "Failed").length;
  const isDone = own.some(({ status }) => status?.phase === "Succeeded");
  if (isDone || failed > (job.spec?.backoffLimit ?? 6)) {
    const at = new Date(world.clock.now()).toISOString().replace(/\.\d{3}Z$/, "Z");
    const types = isDone ? ["SuccessCriteriaMet", "Complete"] : ["FailureTarget", "Failed"];
    const message = isDone ? {} : { reason: "BackoffLimitExceeded", message: "it failed too often" };
    const conditions = types.map((type) => ({
      ...{ type, status: "True", lastTransitionTime: at },
      ...message,
    }));
    const status = {
      ...{ conditions, startTime: at },
      ...(isDone ? { succeeded: 1, completionTime: at } : { failed }),
    };
    await tolerant(
      world.client
        .kind(Job)
        .subresource("status")
        .patch({ namespace, name }, { type: "merge", body: { status } as never }),
    );
    return;
  }
  if (own.some(({ status }) => status?.phase !== "Failed")) return;
  const { spec, metadata } = job.spec?.template ?? {};
  await tolerant(
    world.client.kind(Pod).create({
      metadata: {
        name: `${name}-${own.length}`,
        namespace,
        labels: { ...metadata?.labels },
        ownerReferences: [ownerReference("batch/v1", "Job", job.metadata)],
      },
      spec: spec as never,
    }),
  );
}

function ownerReference(apiVersion: string, kind: string, { name, uid }: SetObject["metadata"]) {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Someone else was faster, or the object is gone. */
async function tolerant(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code !== 409 && code !== 404) throw error;
  }
}
