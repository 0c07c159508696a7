/** Makes and removes pods on behalf of a controller, and tells so in events. */
import { isApiError } from "@keelson/client";
import type { Stored } from "@keelson/core";
import { Pod } from "@keelson/core/kinds";
import type { PodObject } from "@keelson/workloads";
import { type Acting, isNamespaceTerminating, serverMessage } from "../acting/acting.ts";
import type { NewPod } from "./pod-from-template.ts";

/** Creates the pod. What fails is told on the owner, unless the namespace is going. */
export async function createPod(acting: Acting, owner: Stored, pod: NewPod): Promise<PodObject> {
  try {
    const created = await acting.kind(Pod).create(pod);
    acting.event(owner, "Normal", "SuccessfulCreate", `Created pod: ${created.metadata.name}`);
    return created;
  } catch (error) {
    if (isApiError(error) && !isNamespaceTerminating(error)) {
      acting.event(owner, "Warning", "FailedCreate", `Error creating: ${serverMessage(error)}`);
    }
    throw error;
  }
}

/** Deletes this very pod, not one that took its name meanwhile. */
export async function deletePod(acting: Acting, owner: Stored, pod: PodObject): Promise<void> {
  const { name, namespace, uid } = pod.metadata;
  try {
    await acting.kind(Pod).delete({ name, namespace }, { uid });
  } catch (error) {
    if (isApiError(error)) {
      acting.event(owner, "Warning", "FailedDelete", `Error deleting: ${serverMessage(error)}`);
    }
    throw error;
  }
  acting.event(owner, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
}

/**
 * Runs `work` so many times in batches of 1, 2, 4, …, and stops after the first batch with a failure: what fails
 * for one reason fails for all, and once is enough to know. A namespace that is going is no failure.
 */
export async function slowStart(
  count: number,
  work: (index: number) => Promise<unknown>,
): Promise<{ readonly done: number; readonly error: unknown }> {
  let done = 0;
  for (let size = 1; done < count; size *= 2) {
    const batch = Array.from({ length: Math.min(size, count - done) }, (_, index) => work(done + index));
    const results = await Promise.allSettled(batch);
    const failures = results.filter((result) => result.status === "rejected");
    const real = failures.find(({ reason }) => !isNamespaceTerminating(reason));
    done += results.length - (real ? failures.length : 0);
    if (real) return { done, error: real.reason };
  }
  return { done, error: undefined };
}
