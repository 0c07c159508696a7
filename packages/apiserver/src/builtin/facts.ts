/** How built-in resources differ from the common rules, where a plug-in's strategy does not say otherwise. */

import type { JsonObject } from "@keelson/core";
import { lookupTable } from "@keelson/core/internal";
import type { ApiObject } from "../contracts/object.ts";
import type { Strategy } from "../contracts/strategy.ts";
import { type MetadataChecks, pathSegmentName } from "../registry/metadata.ts";

const names = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

/** `resource.group` of those that count changes of their spec in metadata.generation. */
const counted = names(`priorityclasses.scheduling.k8s.io ingressclasses.networking.k8s.io
  networkpolicies.networking.k8s.io ingresses.networking.k8s.io endpointslices.discovery.k8s.io
  poddisruptionbudgets.policy resourceslices.resource.k8s.io deviceclasses.resource.k8s.io
  devicetaintrules.resource.k8s.io flowschemas.flowcontrol.apiserver.k8s.io
  prioritylevelconfigurations.flowcontrol.apiserver.k8s.io daemonsets.apps statefulsets.apps deployments.apps
  replicasets.apps jobs.batch cronjobs.batch pods podtemplates replicationcontrollers
  validatingadmissionpolicies.admissionregistration.k8s.io
  validatingadmissionpolicybindings.admissionregistration.k8s.io
  mutatingadmissionpolicies.admissionregistration.k8s.io
  mutatingadmissionpolicybindings.admissionregistration.k8s.io
  mutatingwebhookconfigurations.admissionregistration.k8s.io
  validatingwebhookconfigurations.admissionregistration.k8s.io
  customresourcedefinitions.apiextensions.k8s.io`);

/** Those whose replace must name a resourceVersion. */
const conditional = names(`podcertificaterequests.certificates.k8s.io clustertrustbundles.certificates.k8s.io
  runtimeclasses.node.k8s.io storageversionmigrations.storagemigration.k8s.io poddisruptionbudgets.policy
  csidrivers.storage.k8s.io csistoragecapacities.storage.k8s.io volumeattachments.storage.k8s.io
  csinodes.storage.k8s.io leases.coordination.k8s.io leasecandidates.coordination.k8s.io
  validatingadmissionpolicies.admissionregistration.k8s.io
  validatingadmissionpolicybindings.admissionregistration.k8s.io
  mutatingadmissionpolicies.admissionregistration.k8s.io
  mutatingadmissionpolicybindings.admissionregistration.k8s.io
  mutatingwebhookconfigurations.admissionregistration.k8s.io
  validatingwebhookconfigurations.admissionregistration.k8s.io
  customresourcedefinitions.apiextensions.k8s.io apiservices.apiregistration.k8s.io`);

/** Those that a replace may create. */
const createdByReplace = names(`runtimeclasses.node.k8s.io rolebindings.rbac.authorization.k8s.io
  clusterrolebindings.rbac.authorization.k8s.io roles.rbac.authorization.k8s.io
  clusterroles.rbac.authorization.k8s.io leases.coordination.k8s.io leasecandidates.coordination.k8s.io
  limitranges events events.events.k8s.io services endpoints`);

/** Those whose delete answers with the object rather than a Status. */
const returned = names(`resourceclaimtemplates.resource.k8s.io resourceslices.resource.k8s.io
  resourceclaims.resource.k8s.io deviceclasses.resource.k8s.io devicetaintrules.resource.k8s.io
  csidrivers.storage.k8s.io storageclasses.storage.k8s.io volumeattachments.storage.k8s.io
  csinodes.storage.k8s.io volumeattributesclasses.storage.k8s.io resourcequotas persistentvolumes
  serviceaccounts persistentvolumeclaims namespaces pods services podtemplates`);

/** Those whose update runs the metadata checks of a create once more, and reports them again. */
const revalidated =
  names(`certificatesigningrequests.certificates.k8s.io clustertrustbundles.certificates.k8s.io
  ingresses.networking.k8s.io ingressclasses.networking.k8s.io ipaddresses.networking.k8s.io
  storageversionmigrations.storagemigration.k8s.io resourceclaims.resource.k8s.io
  resourceclaimtemplates.resource.k8s.io deviceclasses.resource.k8s.io volumeattributesclasses.storage.k8s.io
  csistoragecapacities.storage.k8s.io storageclasses.storage.k8s.io roles.rbac.authorization.k8s.io
  clusterroles.rbac.authorization.k8s.io rolebindings.rbac.authorization.k8s.io
  clusterrolebindings.rbac.authorization.k8s.io controllerrevisions.apps
  persistentvolumeclaims pods nodes serviceaccounts secrets configmaps endpoints
  runtimeclasses.node.k8s.io jobs.batch namespaces apiservices.apiregistration.k8s.io`);

/** Those whose update, in place of comparing with the old metadata once more, runs the checks of a create. */
const onlyRevalidated = names(`csinodes.storage.k8s.io volumeattachments.storage.k8s.io
  flowschemas.flowcontrol.apiserver.k8s.io prioritylevelconfigurations.flowcontrol.apiserver.k8s.io
  endpointslices.discovery.k8s.io limitranges validatingwebhookconfigurations.admissionregistration.k8s.io
  mutatingwebhookconfigurations.admissionregistration.k8s.io
  validatingadmissionpolicies.admissionregistration.k8s.io
  validatingadmissionpolicybindings.admissionregistration.k8s.io
  mutatingadmissionpolicies.admissionregistration.k8s.io
  mutatingadmissionpolicybindings.admissionregistration.k8s.io`);

/** Those that leave metadata to the common rules. */
const unchecked = names("poddisruptionbudgets.policy events");

/** Those whose status update compares metadata by the common rules alone. */
const statusUnchecked = names(`cronjobs.batch poddisruptionbudgets.policy
  prioritylevelconfigurations.flowcontrol.apiserver.k8s.io`);

/** Those that let a finalizer be without a domain. */
const freeFinalizers = names(`poddisruptionbudgets.policy events leases.coordination.k8s.io
  runtimeclasses.node.k8s.io customresourcedefinitions.apiextensions.k8s.io
  apiservices.apiregistration.k8s.io validatingwebhookconfigurations.admissionregistration.k8s.io
  mutatingwebhookconfigurations.admissionregistration.k8s.io
  validatingadmissionpolicies.admissionregistration.k8s.io
  validatingadmissionpolicybindings.admissionregistration.k8s.io
  mutatingadmissionpolicies.admissionregistration.k8s.io
  mutatingadmissionpolicybindings.admissionregistration.k8s.io`);

function metadataChecksOf(name: string): MetadataChecks {
  const counted = () => {
    // Volumes are checked whole, and again as a part of checking the change.
    if (name === "persistentvolumes") return { full: 2, update: 0 };
    if (unchecked.has(name)) return { full: 0, update: 0 };
    if (onlyRevalidated.has(name)) return { full: 1, update: 0 };
    return { full: revalidated.has(name) ? 1 : 0, update: 1 };
  };
  return {
    ...counted(),
    status: statusUnchecked.has(name) ? 0 : 1,
    qualifiedFinalizers: !freeFinalizers.has(name),
  };
}

/** Those that orphan their dependents by default. */
const orphaning = names("jobs.batch replicationcontrollers");

/** Those whose names need only be fit for a path. */
const pathNamed = names(`roles.rbac.authorization.k8s.io clusterroles.rbac.authorization.k8s.io
  rolebindings.rbac.authorization.k8s.io clusterrolebindings.rbac.authorization.k8s.io
  certificatesigningrequests.certificates.k8s.io`);

/** Those whose `/status` takes nothing of the metadata. */
export const statusResetsMetadata = new Set([
  "servicecidrs.networking.k8s.io",
  "storageversionmigrations.storagemigration.k8s.io",
  "resourceclaims.resource.k8s.io",
  "devicetaintrules.resource.k8s.io",
  "volumeattachments.storage.k8s.io",
  "apiservices.apiregistration.k8s.io",
  "flowschemas.flowcontrol.apiserver.k8s.io",
  "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
  "validatingadmissionpolicies.admissionregistration.k8s.io",
]);

function at(object: ApiObject, ...path: string[]): string {
  let value: unknown = object;
  for (const part of path) value = (value as JsonObject | undefined)?.[part];
  return value === undefined || value === null ? "" : String(value);
}

type Selectors = Readonly<Record<string, (object: ApiObject) => string>>;

const eventSelectors: Selectors = {
  ...Object.fromEntries(
    ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"].map((field) => [
      `involvedObject.${field}`,
      (event: ApiObject) => at(event, "involvedObject", field),
    ]),
  ),
  reason: (event) => at(event, "reason"),
  reportingComponent: (event) => at(event, "reportingComponent"),
  source: (event) => at(event, "source", "component") || at(event, "reportingComponent"),
  type: (event) => at(event, "type"),
};

/** The same fields by the names of the newer group. */
const newerEventSelectors: Selectors = {
  ...Object.fromEntries(
    Object.entries(eventSelectors)
      .filter(([field]) => field.startsWith("involvedObject."))
      .map(([field, read]) => [field.replace("involvedObject.", "regarding."), read]),
  ),
  reason: (event) => at(event, "reason"),
  reportingController: (event) => at(event, "reportingComponent"),
  type: (event) => at(event, "type"),
};

const selectors: Readonly<Record<string, Selectors>> = lookupTable<Selectors>({
  pods: {
    "spec.nodeName": (pod) => at(pod, "spec", "nodeName"),
    "spec.restartPolicy": (pod) => at(pod, "spec", "restartPolicy"),
    "spec.schedulerName": (pod) => at(pod, "spec", "schedulerName"),
    "spec.serviceAccountName": (pod) => at(pod, "spec", "serviceAccountName"),
    "spec.hostNetwork": (pod) => at(pod, "spec", "hostNetwork") || "false",
    "status.phase": (pod) => at(pod, "status", "phase"),
    "status.podIP": (pod) => at(pod, "status", "podIP"),
    // Accepted, though nothing is ever found by it.
    "status.podIPs": () => "",
    "status.nominatedNodeName": (pod) => at(pod, "status", "nominatedNodeName"),
  },
  nodes: { "spec.unschedulable": (node) => at(node, "spec", "unschedulable") || "false" },
  replicationcontrollers: { "status.replicas": (rc) => at(rc, "status", "replicas") || "0" },
  "jobs.batch": { "status.successful": (job) => at(job, "status", "succeeded") || "0" },
  namespaces: { "status.phase": (namespace) => at(namespace, "status", "phase") },
  secrets: { type: (secret) => at(secret, "type") },
  services: {
    "spec.clusterIP": (service) => at(service, "spec", "clusterIP"),
    "spec.type": (service) => at(service, "spec", "type"),
  },
  events: eventSelectors,
  "events.events.k8s.io": newerEventSelectors,
  "certificatesigningrequests.certificates.k8s.io": {
    "spec.signerName": (request) => at(request, "spec", "signerName"),
  },
  "resourceslices.resource.k8s.io": {
    "spec.nodeName": (slice) => at(slice, "spec", "nodeName"),
    "spec.driver": (slice) => at(slice, "spec", "driver"),
  },
});

/** Facts of a built-in resource beside its plug-in strategy, which wins where it speaks. */
export interface BuiltinFacts extends Strategy {
  /** A delete that is done answers with the object. */
  readonly returnsDeleted: boolean;
  /** Dependents cannot be orphaned or waited for. */
  readonly ungoverned: boolean;
  /** How often an update reports what is wrong with metadata, beside the common rules. */
  readonly metadataChecks: MetadataChecks;
}

export function builtinFacts(group: string, resource: string): BuiltinFacts {
  const name = group ? `${resource}.${group}` : resource;
  const fields = selectors[name];
  return {
    generation: counted.has(name) ? "spec" : "none",
    allowUnconditionalUpdate: !conditional.has(name),
    allowCreateOnUpdate: createdByReplace.has(name),
    returnsDeleted: returned.has(name),
    ungoverned: resource === "events",
    metadataChecks: metadataChecksOf(name),
    ...(orphaning.has(name) && { defaultPropagation: "Orphan" as const }),
    ...(fields && { selectableFields: fields }),
    ...(pathNamed.has(name) && { validateName: pathSegmentName }),
  };
}
