/** PodSecurity: pods must be as harmless as their namespace asks. */

import type { ObjectMeta } from "@keelson/core";
import { lookupTable } from "@keelson/core/internal";
import type { Pod, PodSpec, PodTemplateSpec } from "@keelson/core/kinds";
import type { AdmissionPlugin, AdmissionRequest } from "../../contracts/admission.ts";
import type { ApiObject } from "../../contracts/object.ts";
import { invalid } from "../../contracts/status-error.ts";
import type { StoreReader } from "../../contracts/store.ts";
import { nameOf, refused } from "../refusals.ts";
import { describe, violations } from "./checks.ts";
import { compareLevels, type LevelVersion, policyOf, showLevel } from "./levels.ts";

const namespaces = { group: "", resource: "namespaces" };
const pods = { group: "", resource: "pods" };
const ignoredParts = new Set([
  "exec",
  "attach",
  "binding",
  "eviction",
  "log",
  "portforward",
  "proxy",
  "status",
]);
/** A namespace of many pods is told about the first only. */
const mostPods = 3000;

type Owner = {
  spec?: { template?: PodTemplateSpec; jobTemplate?: { spec?: { template?: PodTemplateSpec } } };
};

const ofSpec = (object: ApiObject) => (object as unknown as Owner).spec?.template;
/** Where the template stands in each kind that makes pods. */
const templates: Readonly<Record<string, (object: ApiObject) => PodTemplateSpec | undefined>> = lookupTable({
  "/podtemplates": (object) => (object as unknown as { template?: PodTemplateSpec }).template,
  "/replicationcontrollers": ofSpec,
  "apps/replicasets": ofSpec,
  "apps/deployments": ofSpec,
  "apps/statefulsets": ofSpec,
  "apps/daemonsets": ofSpec,
  "batch/jobs": ofSpec,
  "batch/cronjobs": (object) => (object as unknown as Owner).spec?.jobTemplate?.spec?.template,
});

export function podSecurity(store: StoreReader): AdmissionPlugin {
  const labelsOf = (namespace: string) => store.get(namespaces, "", namespace)?.metadata.labels;

  const checkPod = (request: AdmissionRequest): void => {
    if (ignoredParts.has(request.subresource) || !request.object) return;
    const labels = labelsOf(request.namespace);
    if (!labels) return;
    const pod = request.object as unknown as Pod;
    if (request.operation === "UPDATE" && !changesImages(pod, request.oldObject as unknown as Pod)) return;
    judge(request, labels, pod.metadata ?? {}, pod.spec as PodSpec, true);
  };

  const checkTemplate = (
    request: AdmissionRequest,
    templateOf: (object: ApiObject) => PodTemplateSpec | undefined,
  ): void => {
    if (request.subresource !== "" || !request.object) return;
    const labels = labelsOf(request.namespace);
    const template = templateOf(request.object);
    if (labels && template?.spec) judge(request, labels, template.metadata ?? {}, template.spec, false);
  };

  const checkNamespace = (request: AdmissionRequest): void => {
    if (request.subresource !== "" || !request.object) return;
    const { policy, errors } = policyOf(request.object.metadata.labels);
    const old = request.oldObject && policyOf(request.oldObject.metadata.labels);
    const kind = { group: "", kind: "Namespace" };
    if (errors.length > 0 && JSON.stringify(errors) !== JSON.stringify(old?.errors))
      throw invalid(kind, nameOf(request), errors);
    if (!old || policy.enforce.level === "privileged") return;
    const sameVersion = policy.enforce.minor === old.policy.enforce.minor;
    if (sameVersion && compareLevels(policy.enforce.level, old.policy.enforce.level) <= 0) return;
    for (const warning of existing(store, request.object.metadata.name, policy.enforce))
      request.warn(warning);
  };

  return {
    name: "PodSecurity",
    validate(request) {
      if (request.operation !== "CREATE" && request.operation !== "UPDATE") return;
      const { group, resource } = request.resource;
      if (group === "" && resource === "pods") return checkPod(request);
      if (group === "" && resource === "namespaces") return checkNamespace(request);
      const templateOf = templates[`${group}/${resource}`];
      if (templateOf) checkTemplate(request, templateOf);
    },
  };
}

function judge(
  request: AdmissionRequest,
  labels: Readonly<Record<string, string>>,
  meta: ObjectMeta,
  spec: PodSpec,
  enforcing: boolean,
): void {
  const { enforce, warn } = policyOf(labels).policy;
  if (enforcing) {
    const found = violations(enforce, meta, spec);
    if (found.length > 0)
      throw refused(request, `violates PodSecurity "${showLevel(enforce)}": ${describe(found)}`);
  }
  const found = violations(warn, meta, spec);
  if (found.length > 0) request.warn(`would violate PodSecurity "${showLevel(warn)}": ${describe(found)}`);
}

/** Only a new image can change what a pod does. */
function changesImages(pod: Pod, old: Pod): boolean {
  const images = (list: readonly { image?: string }[] = []) => list.map(({ image }) => image).join("\n");
  const [now, before] = [pod.spec as PodSpec, old.spec as PodSpec];
  if (images(now.containers) !== images(before.containers)) return true;
  if (images(now.initContainers) !== images(before.initContainers)) return true;
  return (now.ephemeralContainers ?? []).some(
    ({ name, image }) =>
      !before.ephemeralContainers?.some((other) => other.name === name && other.image === image),
  );
}

/** Which pods that run already a new level would refuse, those of one controller together. */
function existing(store: StoreReader, namespace: string, enforce: LevelVersion): string[] {
  const all = store.list(pods, namespace) as unknown as readonly Pod[];
  const reasons = new Map<string, { name: string; count: number }>();
  for (const { metadata, spec } of all.slice(0, mostPods)) {
    const found = violations(enforce, metadata ?? {}, spec as PodSpec);
    if (found.length === 0) continue;
    const reason = found.map((violation) => violation.reason).join(", ");
    const name = metadata?.name ?? "";
    const known = reasons.get(reason);
    const first = known && known.name < name ? known.name : name;
    reasons.set(reason, { name: first, count: (known?.count ?? 0) + 1 });
  }
  const warnings: string[] = [];
  if (all.length > mostPods)
    warnings.push(
      `new PodSecurity enforce level only checked against the first ${mostPods} of ${all.length} existing pods`,
    );
  if (reasons.size > 0)
    warnings.push(
      `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level "${showLevel(enforce)}"`,
    );
  const details = [...reasons].map(([reason, { name, count }]) => {
    if (count === 1) return `${name}: ${reason}`;
    return `${name} (and ${count - 1} other ${count === 2 ? "pod" : "pods"}): ${reason}`;
  });
  return [...warnings, ...details.sort()];
}
