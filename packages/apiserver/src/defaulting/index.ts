/** The defaults that the server fills in, by resource. */
import { lookupTable } from "@keelson/core/internal";
import type { ApiObject } from "../contracts/object.ts";
import { defaultDaemonSet, defaultDeployment, defaultReplicaSet, defaultStatefulSet } from "./apps.ts";
import { defaultCronJob, defaultJob } from "./batch.ts";
import {
  defaultEndpoints,
  defaultLimitRange,
  defaultNamespace,
  defaultNode,
  defaultPersistentVolume,
  defaultPersistentVolumeClaim,
  defaultPod,
  defaultPodTemplate,
  defaultReplicationController,
  defaultResourceQuota,
  defaultSecret,
  defaultService,
} from "./core.ts";
import {
  defaultAdmissionPolicy,
  defaultAdmissionPolicyBinding,
  defaultAutoscaler,
  defaultBinding,
  defaultCsiDriver,
  defaultEndpointSlice,
  defaultFlowSchema,
  defaultIngressClass,
  defaultMutatingWebhooks,
  defaultNetworkPolicy,
  defaultPriorityClass,
  defaultPriorityLevel,
  defaultRuntimeClass,
  defaultStorageClass,
  defaultValidatingWebhooks,
} from "./others.ts";

/** Fills in defaults of the version being decoded, in place. */
export type Defaulter = (draft: ApiObject, version: string) => void;

/** A kind's own type; decoding has brought the draft to its shape. */
const of = <T>(defaulter: (object: T, version: string) => void): Defaulter =>
  defaulter as unknown as Defaulter;

const admissionregistration = "admissionregistration.k8s.io";
const flowcontrol = "flowcontrol.apiserver.k8s.io";
const rbac = "rbac.authorization.k8s.io";

const defaulters: Readonly<Record<string, Defaulter>> = lookupTable({
  "/pods": of(defaultPod),
  "/podtemplates": of(defaultPodTemplate),
  "/replicationcontrollers": of(defaultReplicationController),
  "/services": of(defaultService),
  "/secrets": of(defaultSecret),
  "/persistentvolumes": of(defaultPersistentVolume),
  "/persistentvolumeclaims": of(defaultPersistentVolumeClaim),
  "/endpoints": of(defaultEndpoints),
  "/namespaces": of(defaultNamespace),
  "/nodes": of(defaultNode),
  "/limitranges": of(defaultLimitRange),
  "/resourcequotas": of(defaultResourceQuota),
  "apps/deployments": of(defaultDeployment),
  "apps/daemonsets": of(defaultDaemonSet),
  "apps/statefulsets": of(defaultStatefulSet),
  "apps/replicasets": of(defaultReplicaSet),
  "batch/jobs": of(defaultJob),
  "batch/cronjobs": of(defaultCronJob),
  "autoscaling/horizontalpodautoscalers": of(defaultAutoscaler),
  "discovery.k8s.io/endpointslices": of(defaultEndpointSlice),
  "networking.k8s.io/networkpolicies": of(defaultNetworkPolicy),
  "networking.k8s.io/ingressclasses": of(defaultIngressClass),
  "node.k8s.io/runtimeclasses": of(defaultRuntimeClass),
  "scheduling.k8s.io/priorityclasses": of(defaultPriorityClass),
  "storage.k8s.io/storageclasses": of(defaultStorageClass),
  "storage.k8s.io/csidrivers": of(defaultCsiDriver),
  [`${rbac}/rolebindings`]: of(defaultBinding),
  [`${rbac}/clusterrolebindings`]: of(defaultBinding),
  [`${flowcontrol}/flowschemas`]: of(defaultFlowSchema),
  [`${flowcontrol}/prioritylevelconfigurations`]: of(defaultPriorityLevel),
  [`${admissionregistration}/validatingwebhookconfigurations`]: of(defaultValidatingWebhooks),
  [`${admissionregistration}/mutatingwebhookconfigurations`]: of(defaultMutatingWebhooks),
  [`${admissionregistration}/validatingadmissionpolicies`]: of(defaultAdmissionPolicy),
  [`${admissionregistration}/mutatingadmissionpolicies`]: of(defaultAdmissionPolicy),
  [`${admissionregistration}/validatingadmissionpolicybindings`]: of(defaultAdmissionPolicyBinding),
  [`${admissionregistration}/mutatingadmissionpolicybindings`]: of(defaultAdmissionPolicyBinding),
});

export function defaulterOf(group: string, resource: string): Defaulter | undefined {
  return defaulters[`${group}/${resource}`];
}
