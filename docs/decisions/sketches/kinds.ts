/** The built-in kinds that the sketches use, cut down to what they touch. */
import type { Kind, KubeObject } from "@keelson/core";

export interface PodLike extends KubeObject {
  spec?: object;
  status?: { phase?: string; podIP?: string; conditions?: { type: string; status: string }[] };
}
export declare const Pod: Kind<PodLike, "", "Pod">;
export declare const PersistentVolumeClaim: Kind<
  KubeObject & { spec?: object; status?: { phase?: string } },
  "",
  "PersistentVolumeClaim"
>;
export declare const Service: Kind<KubeObject & { spec?: object }, "", "Service">;
export declare const Secret: Kind<KubeObject & { data?: Record<string, string> }, "", "Secret">;
export declare const ConfigMap: Kind<KubeObject & { data?: Record<string, string> }, "", "ConfigMap">;
export declare const StatefulSet: Kind<
  KubeObject & { spec?: object; status?: { readyReplicas?: number; updatedReplicas?: number } },
  "apps",
  "StatefulSet"
>;
export declare const Job: Kind<
  KubeObject & { spec?: object; status?: { succeeded?: number; failed?: number } },
  "batch",
  "Job"
>;
export declare const Lease: Kind<
  KubeObject & { spec?: { holderIdentity?: string; leaseTransitions?: number } },
  "coordination.k8s.io",
  "Lease"
>;
export declare const PodDisruptionBudget: Kind<
  KubeObject & { spec?: { minAvailable?: number; selector?: object } },
  "policy",
  "PodDisruptionBudget"
>;
