/** The rules of built-in kinds, by resource. */

import { lookupTable } from "@keelson/core/internal";
import { listOf } from "../contracts/flags.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { PluginContext, PluginFactory } from "../contracts/plugin.ts";
import type { Strategy } from "../contracts/strategy.ts";
import { defaulterOf } from "../defaulting/index.ts";
import { mutatingAdmissionPolicies, validatingAdmissionPolicies } from "./admissionregistration/policies.ts";
import {
  mutatingAdmissionPolicyBindings,
  validatingAdmissionPolicyBindings,
} from "./admissionregistration/policy-bindings.ts";
import {
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
} from "./admissionregistration/webhooks.ts";
import { apiServices } from "./apiregistration.ts";
import { controllerRevisions, statefulSets } from "./apps/stateful-sets.ts";
import { daemonSets, deployments, replicaSets } from "./apps/workloads.ts";
import { horizontalPodAutoscalers } from "./autoscaling.ts";
import { cronJobs, jobs } from "./batch/jobs.ts";
import { certificateSigningRequests } from "./certificates/signing-requests.ts";
import { leases } from "./coordination.ts";
import { endpoints, namespaces, nodes, serviceAccounts } from "./core/cluster.ts";
import { configMaps, secrets } from "./core/config.ts";
import { events } from "./core/events.ts";
import { limitRanges, resourceQuotas } from "./core/limits.ts";
import { pods } from "./core/pods.ts";
import { podTemplates, replicationControllers } from "./core/replication-controllers.ts";
import { defaultServiceRange } from "./core/service-addresses.ts";
import { services } from "./core/services.ts";
import { persistentVolumeClaims, persistentVolumes } from "./core/storage.ts";
import { endpointSlices } from "./discovery.ts";
import { flowSchemas, priorityLevelConfigurations } from "./flowcontrol.ts";
import { ipAddresses, serviceCidrs } from "./networking/addresses.ts";
import { ingressClasses, ingresses } from "./networking/ingresses.ts";
import { networkPolicies } from "./networking/network-policies.ts";
import { runtimeClasses } from "./node.ts";
import { podDisruptionBudgets } from "./policy.ts";
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from "./rbac.ts";
import { resourceClaims, resourceClaimTemplates, resourceSlices } from "./resource.ts";
import { priorityClasses } from "./scheduling.ts";
import {
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  storageClasses,
  volumeAttachments,
  volumeAttributesClasses,
} from "./storage.ts";

const strategies: Readonly<Record<string, Strategy | ((context: PluginContext) => Strategy)>> = lookupTable({
  "/configmaps": configMaps,
  "/secrets": secrets,
  "/pods": pods,
  "/podtemplates": podTemplates,
  "/replicationcontrollers": replicationControllers,
  "/services": services,
  "/persistentvolumes": persistentVolumes,
  "/persistentvolumeclaims": persistentVolumeClaims,
  "/nodes": nodes,
  "/namespaces": namespaces,
  "/serviceaccounts": serviceAccounts,
  "/endpoints": endpoints,
  "/limitranges": limitRanges,
  "/resourcequotas": resourceQuotas,
  "/events": events(""),
  "events.k8s.io/events": events("events.k8s.io"),
  "apps/deployments": deployments,
  "apps/replicasets": replicaSets,
  "apps/daemonsets": daemonSets,
  "apps/statefulsets": statefulSets,
  "apps/controllerrevisions": controllerRevisions,
  "batch/jobs": jobs,
  "batch/cronjobs": cronJobs,
  "policy/poddisruptionbudgets": podDisruptionBudgets,
  "coordination.k8s.io/leases": leases,
  "discovery.k8s.io/endpointslices": endpointSlices,
  "node.k8s.io/runtimeclasses": runtimeClasses,
  "scheduling.k8s.io/priorityclasses": priorityClasses,
  "rbac.authorization.k8s.io/roles": roles,
  "rbac.authorization.k8s.io/clusterroles": clusterRoles,
  "rbac.authorization.k8s.io/rolebindings": roleBindings,
  "rbac.authorization.k8s.io/clusterrolebindings": clusterRoleBindings,
  "autoscaling/horizontalpodautoscalers": horizontalPodAutoscalers,
  "networking.k8s.io/ingresses": ingresses,
  "networking.k8s.io/ingressclasses": ingressClasses,
  "networking.k8s.io/networkpolicies": networkPolicies,
  "networking.k8s.io/servicecidrs": serviceCidrs,
  "networking.k8s.io/ipaddresses": ipAddresses,
  "storage.k8s.io/storageclasses": storageClasses,
  "storage.k8s.io/volumeattributesclasses": volumeAttributesClasses,
  "storage.k8s.io/volumeattachments": volumeAttachments,
  "storage.k8s.io/csidrivers": csiDrivers,
  "storage.k8s.io/csinodes": csiNodes,
  "storage.k8s.io/csistoragecapacities": csiStorageCapacities,
  "flowcontrol.apiserver.k8s.io/flowschemas": flowSchemas,
  "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations": priorityLevelConfigurations,
  "admissionregistration.k8s.io/mutatingwebhookconfigurations": mutatingWebhookConfigurations,
  "admissionregistration.k8s.io/validatingwebhookconfigurations": validatingWebhookConfigurations,
  "admissionregistration.k8s.io/validatingadmissionpolicies": validatingAdmissionPolicies,
  "admissionregistration.k8s.io/validatingadmissionpolicybindings": validatingAdmissionPolicyBindings,
  "admissionregistration.k8s.io/mutatingadmissionpolicies": mutatingAdmissionPolicies,
  "admissionregistration.k8s.io/mutatingadmissionpolicybindings": mutatingAdmissionPolicyBindings,
  "certificates.k8s.io/certificatesigningrequests": certificateSigningRequests,
  "apiregistration.k8s.io/apiservices": apiServices,
  "resource.k8s.io/resourceclaims": resourceClaims,
  "resource.k8s.io/resourceclaimtemplates": resourceClaimTemplates,
  "resource.k8s.io/resourceslices": resourceSlices,
});

/** The range that services have their addresses from, as an object. */
function serviceRange({ flag }: PluginContext): ApiObject {
  const cidrs = listOf(flag("service-cluster-ip-range") ?? defaultServiceRange);
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "ServiceCIDR",
    metadata: { name: "kubernetes" },
    spec: { cidrs },
  };
}

/** Defaults and rules together, as the server asks for them. */
export const builtinKinds: PluginFactory = (context) => ({
  bootstrap: () => [serviceRange(context)],
  strategies(group, resource) {
    const rules = strategies[`${group}/${resource}`];
    const strategy = typeof rules === "function" ? rules(context) : rules;
    const defaulter = defaulterOf(group, resource);
    if (!defaulter) return strategy;
    const own = strategy?.default;
    return {
      ...strategy,
      default(draft, version) {
        defaulter(draft, version);
        own?.(draft, version);
      },
    };
  },
});
