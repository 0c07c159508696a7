/** Rows of `kubectl get` for built-in kinds. */
import { lookupTable } from "@keelson/core/internal";
import type { ApiObject } from "../contracts/object.ts";
import type { PluginFactory } from "../contracts/plugin.ts";
import type { Printer } from "../contracts/printer.ts";
import { resources, tableColumns } from "../tables/index.ts";
import type { RowPrinter } from "./cells.ts";
import {
  ageRow,
  apiServiceRow,
  bindingRow,
  configMapRow,
  eventRow,
  flowSchemaRow,
  leaseRow,
  namespaceRow,
  nodeRow,
  policyBindingRow,
  policyRow,
  priorityClassRow,
  priorityLevelRow,
  quotaRow,
  resourceClaimRow,
  resourceSliceRow,
  runtimeClassRow,
  secretRow,
  signingRequestRow,
  webhooksRow,
} from "./cluster.ts";
import { columnDescription } from "./descriptions.ts";
import {
  endpointSliceRow,
  endpointsRow,
  ingressClassRow,
  ingressRow,
  ipAddressRow,
  networkPolicyRow,
  serviceCidrRow,
  serviceRow,
} from "./networking.ts";
import { podRow } from "./pods.ts";
import {
  claimRow,
  csiDriverRow,
  csiNodeRow,
  storageClassRow,
  volumeAttachmentRow,
  volumeAttributesClassRow,
  volumeRow,
} from "./storage.ts";
import {
  autoscalerRow,
  budgetRow,
  controllerRevisionRow,
  cronJobRow,
  daemonSetRow,
  deploymentRow,
  jobRow,
  podTemplateRow,
  replicaSetRow,
  replicationControllerRow,
  statefulSetRow,
} from "./workloads.ts";

/** A kind's own type; stored objects have its shape. */
const of = <T>(row: RowPrinter<T>): RowPrinter<ApiObject> => row as unknown as RowPrinter<ApiObject>;

const rbac = "rbac.authorization.k8s.io";
const admission = "admissionregistration.k8s.io";
const flowcontrol = "flowcontrol.apiserver.k8s.io";
const storage = "storage.k8s.io";

/** By `group/kind`. Kinds that are not here show their name and when they were made. */
const rows: Readonly<Record<string, RowPrinter<ApiObject>>> = lookupTable({
  "/ConfigMap": of(configMapRow),
  "/Endpoints": of(endpointsRow),
  "/Event": of(eventRow),
  "/Namespace": of(namespaceRow),
  "/Node": of(nodeRow),
  "/PersistentVolume": of(volumeRow),
  "/PersistentVolumeClaim": of(claimRow),
  "/Pod": of(podRow),
  "/PodTemplate": of(podTemplateRow),
  "/ReplicationController": of(replicationControllerRow),
  "/ResourceQuota": of(quotaRow),
  "/Secret": of(secretRow),
  "/Service": of(serviceRow),
  "/ServiceAccount": of(ageRow),
  "apiregistration.k8s.io/APIService": of(apiServiceRow),
  "apps/ControllerRevision": of(controllerRevisionRow),
  "apps/DaemonSet": of(daemonSetRow),
  "apps/Deployment": of(deploymentRow),
  "apps/ReplicaSet": of(replicaSetRow),
  "apps/StatefulSet": of(statefulSetRow),
  "autoscaling/HorizontalPodAutoscaler": of(autoscalerRow),
  "batch/CronJob": of(cronJobRow),
  "batch/Job": of(jobRow),
  "certificates.k8s.io/CertificateSigningRequest": of(signingRequestRow),
  "coordination.k8s.io/Lease": of(leaseRow),
  "discovery.k8s.io/EndpointSlice": of(endpointSliceRow),
  "events.k8s.io/Event": of(eventRow),
  "networking.k8s.io/Ingress": of(ingressRow),
  "networking.k8s.io/IngressClass": of(ingressClassRow),
  "networking.k8s.io/IPAddress": of(ipAddressRow),
  "networking.k8s.io/NetworkPolicy": of(networkPolicyRow),
  "networking.k8s.io/ServiceCIDR": of(serviceCidrRow),
  "node.k8s.io/RuntimeClass": of(runtimeClassRow),
  "policy/PodDisruptionBudget": of(budgetRow),
  "resource.k8s.io/DeviceClass": of(ageRow),
  "resource.k8s.io/ResourceClaim": of(resourceClaimRow),
  "resource.k8s.io/ResourceClaimTemplate": of(ageRow),
  "resource.k8s.io/ResourceSlice": of(resourceSliceRow),
  "scheduling.k8s.io/PriorityClass": of(priorityClassRow),
  [`${rbac}/ClusterRoleBinding`]: of(bindingRow),
  [`${rbac}/RoleBinding`]: of(bindingRow),
  [`${admission}/MutatingWebhookConfiguration`]: of(webhooksRow),
  [`${admission}/ValidatingWebhookConfiguration`]: of(webhooksRow),
  [`${admission}/ValidatingAdmissionPolicy`]: of(policyRow),
  [`${admission}/MutatingAdmissionPolicy`]: of(policyRow),
  [`${admission}/ValidatingAdmissionPolicyBinding`]: of(policyBindingRow),
  [`${admission}/MutatingAdmissionPolicyBinding`]: of(policyBindingRow),
  [`${flowcontrol}/FlowSchema`]: of(flowSchemaRow),
  [`${flowcontrol}/PriorityLevelConfiguration`]: of(priorityLevelRow),
  [`${storage}/CSIDriver`]: of(csiDriverRow),
  [`${storage}/CSINode`]: of(csiNodeRow),
  [`${storage}/StorageClass`]: of(storageClassRow),
  [`${storage}/VolumeAttachment`]: of(volumeAttachmentRow),
  [`${storage}/VolumeAttributesClass`]: of(volumeAttributesClassRow),
});

function printerOf(group: string, kind: string): Printer | undefined {
  const print = rows[`${group}/${kind}`];
  const resource = resources().find((entry) => entry.group === group && entry.kind === kind);
  if (!print || !resource) return undefined;
  const columns = tableColumns(resource).map((column) => ({
    ...column,
    description: columnDescription(kind, column.name),
  }));
  return {
    columns,
    row(object, { nowMs }) {
      const printed = print(object, nowMs);
      // Some rows know more than the table has columns for.
      if (Array.isArray(printed)) return { cells: printed.slice(0, columns.length) };
      return printed;
    },
  };
}

export const printers: PluginFactory = () => ({ printers: printerOf });
