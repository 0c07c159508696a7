/** What a user may add to the pods of an application: labels, annotations, and where they run. */
import type { InputOf } from "@keelson/core";
import type { Pod } from "@keelson/core/kinds";
import { preserveUnknown } from "@keelson/schema";
import { z } from "zod";

type PodSpec = NonNullable<InputOf<typeof Pod>["spec"]>;

/** Part of a custom resource's spec: labels, annotations and placement of its pods, as a pod template has them. */
export const podOptionsSchema = z.object({
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  nodeSelector: z.record(z.string(), z.string()).optional(),
  affinity: preserveUnknown().optional(),
  tolerations: z.array(preserveUnknown()).optional(),
  topologySpreadConstraints: z.array(preserveUnknown()).optional(),
  priorityClassName: z.string().optional(),
});

/** The value of {@link podOptionsSchema}. */
export type PodOptions = z.output<typeof podOptionsSchema>;

/**
 * The part of a pod's spec that says where it runs.
 *
 * @param options - What the user asked for. Default of `affinity`: pods with the same `labels` prefer different nodes.
 * @param labels - The labels that all pods of the application have.
 */
export function podPlacement(
  options: PodOptions | undefined,
  labels: Readonly<Record<string, string>>,
): Partial<PodSpec> {
  const {
    affinity = preferDifferentNodes(labels),
    nodeSelector,
    tolerations,
    topologySpreadConstraints,
    priorityClassName,
  } = (options ?? {}) as Partial<PodSpec>;
  return {
    affinity,
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
    ...(tolerations === undefined ? {} : { tolerations }),
    ...(topologySpreadConstraints === undefined ? {} : { topologySpreadConstraints }),
    ...(priorityClassName === undefined ? {} : { priorityClassName }),
  };
}

function preferDifferentNodes(
  matchLabels: Readonly<Record<string, string>>,
): NonNullable<PodSpec["affinity"]> {
  const podAffinityTerm = { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels } };
  return {
    podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm }] },
  };
}
