/** The status of a daemon set. */
import type { DaemonSetStatus } from "@keelson/core/kinds";
import { isPodAvailable, isPodReady } from "@keelson/workloads";
import { omitEmpty } from "../acting/omit-empty.ts";
import { bySeniority, isUpdated, placeOn } from "./daemon-pods.ts";
import type { DaemonInput } from "./plan.ts";

export function daemonSetStatus({ set, nodes, podsByNode, hash, nowMs }: DaemonInput): DaemonSetStatus {
  let desired = 0;
  let current = 0;
  let misscheduled = 0;
  let ready = 0;
  let available = 0;
  let updated = 0;
  for (const node of nodes) {
    const [pod] = (podsByNode.get(node.metadata.name) ?? []).toSorted(bySeniority);
    if (!placeOn(set, node).shouldRun) {
      misscheduled += Number(pod !== undefined);
      continue;
    }
    desired++;
    if (!pod) continue;
    current++;
    ready += Number(isPodReady(pod));
    available += Number(isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs));
    updated += Number(isUpdated(set, pod, hash));
  }
  const { collisionCount, conditions } = set.status ?? {};
  return {
    ...omitEmpty({
      observedGeneration: set.metadata.generation,
      updatedNumberScheduled: updated,
      numberAvailable: available,
      numberUnavailable: desired - available,
      conditions,
    }),
    currentNumberScheduled: current,
    numberMisscheduled: misscheduled,
    desiredNumberScheduled: desired,
    numberReady: ready,
    ...(collisionCount === undefined ? {} : { collisionCount }),
  };
}
