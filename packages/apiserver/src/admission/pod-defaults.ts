/** What is added to pods and nodes: tolerations, taints, topology labels, the runtime class's part. */
import { deepEqual } from "@keelson/core";
import type { Binding, Node, Pod, PodSpec, RuntimeClass, Toleration } from "@keelson/core/kinds";
import type { AdmissionPlugin, AdmissionRequest } from "../contracts/admission.ts";
import type { StoreReader } from "../contracts/store.ts";
import { isFor, refused } from "./refusals.ts";

const notReady = "node.kubernetes.io/not-ready";
const unreachable = "node.kubernetes.io/unreachable";

function tolerates(tolerations: readonly Toleration[], taint: string): boolean {
  return tolerations.some(
    ({ key, effect }) => (!key || key === taint) && (!effect || effect === "NoExecute"),
  );
}

/** DefaultTolerationSeconds: a node may be lost for five minutes before its pods are. */
export function defaultTolerationSeconds(flag: (name: string) => string | undefined): AdmissionPlugin {
  const seconds: Readonly<Record<string, number>> = {
    [notReady]: Number(flag("default-not-ready-toleration-seconds") ?? 300),
    [unreachable]: Number(flag("default-unreachable-toleration-seconds") ?? 300),
  };
  return {
    name: "DefaultTolerationSeconds",
    admit(request) {
      if (!isFor(request, "", "pods") || !request.object) return;
      const spec = (request.object as unknown as Pod).spec as PodSpec;
      const given = spec.tolerations ?? [];
      const added = [notReady, unreachable].filter((taint) => !tolerates(given, taint));
      if (added.length === 0) return;
      spec.tolerations = [
        ...given,
        ...added.map(
          (key): Toleration => ({
            key,
            operator: "Exists",
            effect: "NoExecute",
            tolerationSeconds: seconds[key] ?? 300,
          }),
        ),
      ];
    },
  };
}

/** TaintNodesByCondition: a new node takes no pods until it has said that it is ready. */
export const taintNodesByCondition: AdmissionPlugin = {
  name: "TaintNodesByCondition",
  admit(request) {
    if (!isFor(request, "", "nodes") || request.operation !== "CREATE") return;
    const node = request.object as unknown as Node;
    node.spec ??= {};
    const taints = node.spec.taints ?? [];
    if (taints.some(({ key, effect }) => key === notReady && effect === "NoSchedule")) return;
    node.spec.taints = [...taints, { key: notReady, effect: "NoSchedule" }];
  },
};

const topologyLabels = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/** PodTopologyLabels: a pod learns where it runs. */
export function podTopologyLabels(store: StoreReader): AdmissionPlugin {
  return {
    name: "PodTopologyLabels",
    admit({ resource, subresource, object, operation }) {
      if (resource.resource !== "pods" || resource.group !== "" || !object || operation !== "CREATE") return;
      const name =
        subresource === "binding"
          ? (object as unknown as Binding).target?.name
          : subresource === ""
            ? (object as unknown as Pod).spec?.nodeName
            : undefined;
      if (!name) return;
      const labels = store.get({ group: "", resource: "nodes" }, "", name)?.metadata.labels ?? {};
      const found = topologyLabels.filter((key) => labels[key] !== undefined);
      if (found.length === 0) return;
      object.metadata.labels = {
        ...object.metadata.labels,
        ...Object.fromEntries(found.map((key) => [key, labels[key] as string])),
      };
    },
  };
}

const mismatch = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

/** RuntimeClass: what a runtime costs, and where it is found. */
export function runtimeClass(store: StoreReader): AdmissionPlugin {
  const classOf = (request: AdmissionRequest, spec: PodSpec): RuntimeClass | undefined => {
    const name = spec.runtimeClassName;
    if (name === undefined) return undefined;
    const found = store.get({ group: "node.k8s.io", resource: "runtimeclasses" }, "", name);
    if (!found) throw refused(request, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
    return found as unknown as RuntimeClass;
  };
  const specOf = (request: AdmissionRequest): PodSpec | undefined =>
    isFor(request, "", "pods") && request.operation === "CREATE"
      ? ((request.object as unknown as Pod).spec as PodSpec)
      : undefined;
  return {
    name: "RuntimeClass",
    admit(request) {
      const spec = specOf(request);
      const found = spec && classOf(request, spec);
      if (!spec || !found) return;
      const overhead = found.overhead?.podFixed;
      if (found.overhead) {
        if (
          spec.overhead &&
          Object.keys(spec.overhead).length > 0 &&
          !deepEqual(spec.overhead, overhead ?? {})
        )
          throw refused(request, mismatch);
        if (overhead) spec.overhead = { ...overhead };
      }
      if (found.scheduling) schedule(request, spec, found.scheduling);
    },
    validate(request) {
      const spec = specOf(request);
      if (!spec) return;
      const found = classOf(request, spec);
      if (found?.overhead) {
        if (!deepEqual(spec.overhead ?? {}, found.overhead.podFixed ?? {})) throw refused(request, mismatch);
      } else if (spec.overhead)
        throw refused(
          request,
          "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        );
    },
  };
}

function schedule(
  request: AdmissionRequest,
  spec: PodSpec,
  scheduling: NonNullable<RuntimeClass["scheduling"]>,
): void {
  const selector: Record<string, string> = { ...spec.nodeSelector };
  for (const [key, value] of Object.entries(scheduling.nodeSelector ?? {})) {
    const own = selector[key];
    if (own !== undefined && own !== value)
      throw refused(
        request,
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`,
      );
    selector[key] = value;
  }
  if (Object.keys(selector).length > 0) spec.nodeSelector = selector;
  const tolerations = [...(spec.tolerations ?? [])];
  for (const toleration of scheduling.tolerations ?? [])
    if (!tolerations.some((known) => deepEqual(known, toleration))) tolerations.push({ ...toleration });
  if (tolerations.length > 0) spec.tolerations = tolerations;
}
