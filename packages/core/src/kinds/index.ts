/**
 * Every built-in kind of Kubernetes 1.36, as type and as value of the same name.
 *
 *     import { Deployment, type PodSpec, autoscalingV1 } from "@keelson/core/kinds";
 *
 * Plain names stand for the preferred version of what a cluster serves by default; where two groups share a
 * name, the core group wins (`Event`, beside `eventsV1.Event`). Everything, beta and alpha included, is in its
 * namespace: `coreV1`, `resourceV1beta2`.
 */
export * from "./all.generated.ts";
export type { IntOrString, Quantity } from "./scalars.ts";
