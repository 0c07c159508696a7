/** Makes and removes the pods of a job. */
import { isNotFound } from "@keelson/client";
import { maxGeneratedBase } from "@keelson/core/internal";
import { type Container, Job, Pod } from "@keelson/core/kinds";
import { isPodReady, type PodObject } from "@keelson/workloads";
import type { Acting } from "../acting/acting.ts";
import { controllerReference } from "../ownership/owner-reference.ts";
import { createPod, deletePod, slowStart } from "../pods/pod-control.ts";
import { type NewPod, podFromTemplate } from "../pods/pod-from-template.ts";
import {
  failureCountAnnotation,
  ignoredFailureCountAnnotation,
  indexAnnotation,
  isIndexed,
  isTracked,
  type JobObject,
  trackingFinalizer,
} from "./job-pods.ts";
import type { Creation } from "./moves.ts";

const indexVariable = "JOB_COMPLETION_INDEX";

/** A pod of the job, for an index where it has one. */
export function podOfJob(job: JobObject, { index, failures }: Creation): NewPod {
  const pod = podFromTemplate(job.spec.template, job.metadata);
  pod.metadata.ownerReferences = [controllerReference(job, Job)];
  pod.metadata.finalizers = [...new Set([...(pod.metadata.finalizers ?? []), trackingFinalizer])];
  if (!isIndexed(job)) return pod;
  const { spec } = pod;
  spec.containers = spec.containers.map(withIndexVariable);
  if (spec.initContainers) spec.initContainers = spec.initContainers.map(withIndexVariable);
  if (index === undefined) return pod;
  const end = `-${index}-`;
  pod.metadata.generateName = `${job.metadata.name.slice(0, maxGeneratedBase - end.length)}${end}`;
  pod.metadata.labels = { ...pod.metadata.labels, [indexAnnotation]: String(index) };
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    [indexAnnotation]: String(index),
    ...(failures ? { [failureCountAnnotation]: String(failures.counted) } : {}),
    ...(failures?.ignored ? { [ignoredFailureCountAnnotation]: String(failures.ignored) } : {}),
  };
  spec.hostname = `${job.metadata.name}-${index}`;
  return pod;
}

function withIndexVariable(container: Container): Container {
  if (container.env?.some(({ name }) => name === indexVariable)) return container;
  const fieldRef = { fieldPath: `metadata.labels['${indexAnnotation}']` };
  return { ...container, env: [...(container.env ?? []), { name: indexVariable, valueFrom: { fieldRef } }] };
}

export async function createPods(
  acting: Acting,
  job: JobObject,
  creations: readonly Creation[],
): Promise<{ readonly done: number; readonly error: unknown }> {
  return await slowStart(creations.length, async (position) => {
    const creation = creations[position];
    if (creation) await createPod(acting, job, podOfJob(job, creation));
  });
}

export interface Removal {
  readonly done: number;
  readonly ready: number;
  readonly error: unknown;
}

/** Removes active pods; `uncounted` lets them go first, as pods that are no failures. */
export async function removePods(
  acting: Acting,
  job: JobObject,
  pods: readonly PodObject[],
  uncounted: boolean,
): Promise<Removal> {
  const results = await Promise.allSettled(
    pods.map(async (pod) => {
      if (uncounted) await release(acting, pod);
      await deletePod(acting, job, pod);
    }),
  );
  const failed = results.find((result) => result.status === "rejected");
  return {
    done: results.filter(({ status }) => status === "fulfilled").length,
    ready: pods.filter((pod, index) => results[index]?.status === "fulfilled" && isPodReady(pod)).length,
    error: failed?.reason,
  };
}

/** Takes the tracking finalizer off. */
export async function release(acting: Acting, pod: PodObject): Promise<void> {
  if (!isTracked(pod)) return;
  const { name, namespace, uid } = pod.metadata;
  const metadata = { uid, "$deleteFromPrimitiveList/finalizers": [trackingFinalizer] };
  try {
    await acting.kind(Pod).patch({ name, namespace }, { type: "strategic", body: { metadata } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
