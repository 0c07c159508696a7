/** When an object of a known kind has become what its spec asks for. */
import { type AnyKind, type Condition, findCondition, groupKind, type Stored } from "@keelson/core";

/** Whether an object is ready, and why not. */
export interface Readiness {
  readonly ready: boolean;
  /** Why not, as a sentence without its subject: `2 of 3 replicas are ready`. */
  readonly message: string;
}

const ready: Readiness = { ready: true, message: "is ready" };

function not(message: string): Readiness {
  return { ready: false, message };
}

/** What the rules look at. The kinds themselves are not imported: they are large, and an operator uses few of them. */
interface Workload {
  readonly spec?: {
    readonly replicas?: number;
    readonly type?: string;
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly partition?: number };
    };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: Condition[];
    readonly phase?: string;
    readonly message?: string;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
    readonly readyReplicas?: number;
    readonly currentRevision?: string;
    readonly updateRevision?: string;
    readonly desiredNumberScheduled?: number;
    readonly updatedNumberScheduled?: number;
    readonly numberAvailable?: number;
    readonly loadBalancer?: { readonly ingress?: readonly unknown[] };
  };
}

type Rule = (object: Workload) => Readiness;

const rules: Readonly<Record<string, Rule>> = {
  "Deployment.apps": ({ spec, status = {} }) => {
    const wanted = spec?.replicas ?? 1;
    const progressing = findCondition(status.conditions, "Progressing");
    if (progressing?.reason === "ProgressDeadlineExceeded") return not("exceeded its progress deadline");
    if ((status.updatedReplicas ?? 0) < wanted) {
      return not(`${status.updatedReplicas ?? 0} of ${wanted} replicas are updated`);
    }
    if ((status.replicas ?? 0) > (status.updatedReplicas ?? 0)) return not("old replicas are being removed");
    const available = status.availableReplicas ?? 0;
    return available < wanted ? not(`${available} of ${wanted} replicas are available`) : ready;
  },
  "StatefulSet.apps": ({ spec, status = {} }) => {
    const wanted = spec?.replicas ?? 1;
    const readyReplicas = status.readyReplicas ?? 0;
    if (readyReplicas < wanted) return not(`${readyReplicas} of ${wanted} replicas are ready`);
    if (spec?.updateStrategy?.type === "OnDelete") return ready;
    const partition = spec?.updateStrategy?.rollingUpdate?.partition ?? 0;
    const updated = status.updatedReplicas ?? 0;
    if (partition > 0) return updated < wanted - partition ? not("the update is under way") : ready;
    return status.currentRevision !== status.updateRevision ? not("the update is under way") : ready;
  },
  "DaemonSet.apps": ({ spec, status = {} }) => {
    const wanted = status.desiredNumberScheduled ?? 0;
    if (status.observedGeneration === undefined) return not("has not been looked at yet");
    if (spec?.updateStrategy?.type !== "OnDelete" && (status.updatedNumberScheduled ?? 0) < wanted) {
      return not(`${status.updatedNumberScheduled ?? 0} of ${wanted} pods are updated`);
    }
    const available = status.numberAvailable ?? 0;
    return available < wanted ? not(`${available} of ${wanted} pods are available`) : ready;
  },
  "ReplicaSet.apps": ({ spec, status = {} }) => {
    const wanted = spec?.replicas ?? 1;
    const available = status.availableReplicas ?? 0;
    return available < wanted ? not(`${available} of ${wanted} replicas are available`) : ready;
  },
  "Job.batch": ({ status = {} }) => {
    const failed = findCondition(status.conditions, "Failed");
    if (failed?.status === "True") return not(`failed: ${failed.message}`);
    return findCondition(status.conditions, "Complete")?.status === "True" ? ready : not("has not completed");
  },
  "CronJob.batch": () => ready,
  Pod: ({ status = {} }) => {
    if (status.phase === "Succeeded") return ready;
    if (status.phase === "Failed") return not(`failed${status.message ? `: ${status.message}` : ""}`);
    return findCondition(status.conditions, "Ready")?.status === "True"
      ? ready
      : not(`is ${String(status.phase ?? "Pending").toLowerCase()}`);
  },
  PersistentVolumeClaim: ({ status = {} }) =>
    // A claim that waits for its first pod would never be ready if one had to wait for it: the binder says which.
    status.phase === "Bound" ? ready : not(`is ${String(status.phase ?? "Pending").toLowerCase()}`),
  Service: ({ spec, status }) => {
    if (spec?.type !== "LoadBalancer") return ready;
    return (status?.loadBalancer?.ingress?.length ?? 0) > 0 ? ready : not("waits for its load balancer");
  },
  Namespace: ({ status }) => (status?.phase === "Terminating" ? not("is terminating") : ready),
  "PodDisruptionBudget.policy": () => ready,
  "CustomResourceDefinition.apiextensions.k8s.io": ({ status = {} }) =>
    findCondition(status.conditions, "Established")?.status === "True" ? ready : not("is not established"),
};

/** Whether the object is what its spec asks for: by a rule of its kind, by its Ready condition, or by being there. */
export function readinessOf(kind: AnyKind, object: Stored): Readiness {
  if (object.metadata.deletionTimestamp !== undefined) return not("is being deleted");
  const { generation } = object.metadata;
  const { status } = object as Workload;
  if (generation !== undefined && status?.observedGeneration !== undefined) {
    if (status.observedGeneration < generation) return not("has a change that is not acted on yet");
  }
  const rule = rules[groupKind(kind)];
  if (rule) return rule(object as Workload);
  const stalled = findCondition(status?.conditions, "Stalled");
  if (stalled?.status === "True") return not(`is stalled: ${stalled.message}`);
  const condition = findCondition(status?.conditions, "Ready");
  if (condition && condition.status !== "True") return not(condition.message || "is not ready");
  // A resource of ours says how it is; until it has, nobody looked at it.
  if (!condition && "crd" in kind) return not("has not been looked at yet");
  return ready;
}
