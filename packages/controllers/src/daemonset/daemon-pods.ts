/** Pods of a daemon set: where they belong, and what makes them different from their template. Pure. */
import type { ObjectOf } from "@keelson/core";
import { compareBytes } from "@keelson/core/internal";
import { type Affinity, DaemonSet, type PodSpec, type Toleration } from "@keelson/core/kinds";
import type { PodObject } from "@keelson/workloads";
import { matchesNode, type NodeObject, untolerated } from "@keelson/workloads";
import { controllerReference } from "../ownership/owner-reference.ts";
import { type NewPod, podFromTemplate } from "../pods/pod-from-template.ts";

export type DaemonSetObject = ObjectOf<typeof DaemonSet>;

export const hashLabel = "controller-revision-hash";
const generationLabel = "pod-template-generation";
const generationAnnotation = "deprecated.daemonset.template.generation";

const prefix = "node.kubernetes.io";

/** What every daemon puts up with: it is there to look after the node. */
function tolerationsOf(spec: Pick<PodSpec, "tolerations" | "hostNetwork">): Toleration[] {
  const always: Toleration[] = [
    { key: `${prefix}/not-ready`, operator: "Exists", effect: "NoExecute" },
    { key: `${prefix}/unreachable`, operator: "Exists", effect: "NoExecute" },
    { key: `${prefix}/disk-pressure`, operator: "Exists", effect: "NoSchedule" },
    { key: `${prefix}/memory-pressure`, operator: "Exists", effect: "NoSchedule" },
    { key: `${prefix}/pid-pressure`, operator: "Exists", effect: "NoSchedule" },
    { key: `${prefix}/unschedulable`, operator: "Exists", effect: "NoSchedule" },
    ...(spec.hostNetwork
      ? [{ key: `${prefix}/network-unavailable`, operator: "Exists", effect: "NoSchedule" } as const]
      : []),
  ];
  const isSame = (a: Toleration, b: Toleration) =>
    a.key === b.key &&
    a.effect === b.effect &&
    a.operator === b.operator &&
    (a.value ?? "") === (b.value ?? "");
  const own = (spec.tolerations ?? []).map((each) => always.find((other) => isSame(each, other)) ?? each);
  return [...own, ...always.filter((each) => !own.includes(each))];
}

/** The generation of the template, as older releases counted it. */
export function templateGeneration({ metadata }: DaemonSetObject): string | undefined {
  const value = metadata.annotations?.[generationAnnotation];
  return value !== undefined && /^-?\d+$/.test(value) ? value : undefined;
}

/** The daemon for one node. */
export function daemonPod(set: DaemonSetObject, hash: string, node: string): NewPod {
  const pod = podFromTemplate(set.spec.template, set.metadata);
  const generation = templateGeneration(set);
  pod.metadata.ownerReferences = [controllerReference(set, DaemonSet)];
  pod.metadata.labels = {
    ...pod.metadata.labels,
    ...(generation === undefined ? {} : { [generationLabel]: generation }),
    [hashLabel]: hash,
  };
  pod.spec.tolerations = tolerationsOf(pod.spec);
  pod.spec.affinity = onNode(pod.spec.affinity, node);
  return pod;
}

function onNode(affinity: Affinity | undefined, node: string): Affinity {
  const matchFields = [{ key: "metadata.name", operator: "In", values: [node] }];
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields }],
      } as NonNullable<Affinity["nodeAffinity"]>["requiredDuringSchedulingIgnoredDuringExecution"],
    },
  };
}

/** The node that the pod is on, or is meant for. */
export function targetNode({ spec }: PodObject): string | undefined {
  if (spec.nodeName) return spec.nodeName;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  for (const { matchFields = [] } of required?.nodeSelectorTerms ?? []) {
    for (const { key, operator, values } of matchFields) {
      if (key === "metadata.name" && operator === "In" && values?.length === 1) return values[0];
    }
  }
  return undefined;
}

export interface Place {
  readonly shouldRun: boolean;
  /** One that is there may stay, though none would be put there now. */
  readonly mayStay: boolean;
}

export function placeOn(set: DaemonSetObject, node: NodeObject): Place {
  const { spec } = set.spec.template;
  const nowhere: Place = { shouldRun: false, mayStay: false };
  if (!spec || (spec.nodeName && spec.nodeName !== node.metadata.name) || !matchesNode(spec, node))
    return nowhere;
  const tolerations = tolerationsOf(spec);
  const { taints } = node.spec;
  if (!untolerated(taints, tolerations, ["NoSchedule", "NoExecute"]))
    return { shouldRun: true, mayStay: true };
  return { shouldRun: false, mayStay: untolerated(taints, tolerations, ["NoExecute"]) === undefined };
}

export function isUpdated(set: DaemonSetObject, pod: PodObject, hash: string): boolean {
  const generation = templateGeneration(set);
  return (
    pod.metadata.labels?.[hashLabel] === hash ||
    (generation !== undefined && pod.metadata.labels?.[generationLabel] === generation)
  );
}

/** Those with a node first, then the oldest. */
export function bySeniority(a: PodObject, b: PodObject): number {
  return (
    Number(Boolean(b.spec.nodeName)) - Number(Boolean(a.spec.nodeName)) ||
    compareBytes(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
    compareBytes(a.metadata.name, b.metadata.name)
  );
}
