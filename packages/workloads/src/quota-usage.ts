/** What objects count against a resource quota. */
import { parseTime, Quantity } from "@keelson/core";
import { compareBytes } from "@keelson/core/internal";
import type {
  PersistentVolumeClaim,
  Pod,
  PodAffinityTerm,
  PodSpec,
  ScopedResourceSelectorRequirement,
  Service,
} from "@keelson/core/kinds";
import { type Amounts, podAmounts } from "./pod-resources.ts";
import { qosClassOf } from "./quality-of-service.ts";

/** A write that a quota may have to count, as admission sees it. */
export interface QuotaRequest {
  readonly operation: string;
  /** Empty for the resource itself. */
  readonly subresource: string;
  readonly object: object | undefined;
  readonly oldObject: object | undefined;
}

/** How one resource counts. */
export interface Evaluator {
  handles(request: QuotaRequest): boolean;
  /** Of the names that a quota limits, those that this resource can use. */
  matching(names: readonly string[]): string[];
  matchesScope(scope: ScopedResourceSelectorRequirement, object: object): boolean;
  usage(object: object, nowMs: number): Amounts;
  /** What a quota demands to be said that the object does not say. */
  missing?(names: readonly string[], object: object): string | undefined;
}

const one = Quantity.of(1);

// ---------------------------------------------------------------------------------------------- pods

const podNames = new Set(
  "count/pods cpu memory ephemeral-storage requests.cpu requests.memory requests.ephemeral-storage limits.cpu limits.memory limits.ephemeral-storage pods".split(
    " ",
  ),
);
const demanded = ["cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"];
const computes = ["cpu", "memory", "ephemeral-storage"];

function computeUsage(requests: Amounts, limits: Amounts): Amounts {
  const used: Amounts = new Map([["pods", one]]);
  for (const name of computes) {
    const request = requests.get(name);
    const limit = limits.get(name);
    if (request) {
      used.set(name, request);
      used.set(`requests.${name}`, request);
    }
    if (limit) used.set(`limits.${name}`, limit);
  }
  for (const [name, request] of requests) {
    if (name.startsWith("hugepages-")) {
      used.set(name, request);
      used.set(`requests.${name}`, request);
    } else if (name.includes("/") && !name.includes("kubernetes.io/")) used.set(`requests.${name}`, request);
  }
  return used;
}

function isTerminating(pod: Pod): boolean {
  return (pod.spec?.activeDeadlineSeconds ?? -1) >= 0;
}

function isOver(pod: Pod, nowMs: number): boolean {
  const { phase } = pod.status ?? {};
  if (phase === "Failed" || phase === "Succeeded") return true;
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata ?? {};
  if (!deletionTimestamp || deletionGracePeriodSeconds === undefined) return false;
  return nowMs > parseTime(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
}

function crossesNamespaces(pod: Pod): boolean {
  const crosses = (term: PodAffinityTerm | undefined) =>
    Boolean(term?.namespaces?.length) || term?.namespaceSelector !== undefined;
  return [pod.spec?.affinity?.podAffinity, pod.spec?.affinity?.podAntiAffinity].some(
    (affinity) =>
      affinity?.requiredDuringSchedulingIgnoredDuringExecution?.some(crosses) ||
      affinity?.preferredDuringSchedulingIgnoredDuringExecution?.some(({ podAffinityTerm }) =>
        crosses(podAffinityTerm),
      ),
  );
}

/** Whether a named value is selected by a scope. */
function selects(
  { operator, values = [] }: ScopedResourceSelectorRequirement,
  value: string | undefined,
): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    default:
      return value === undefined;
  }
}

const pods: Evaluator = {
  handles({ subresource, operation, object, oldObject }) {
    if (subresource === "resize") return operation === "UPDATE";
    if (subresource !== "") return false;
    if (operation !== "UPDATE") return operation === "CREATE";
    return isTerminating(object as unknown as Pod) !== isTerminating(oldObject as unknown as Pod);
  },
  matching: (names) =>
    names.filter(
      (name) =>
        podNames.has(name) ||
        name.startsWith("hugepages-") ||
        name.startsWith("requests.hugepages-") ||
        (name.startsWith("requests.") && name.includes("/") && !name.includes("kubernetes.io/")),
    ),
  matchesScope(scope, object) {
    const pod = object as unknown as Pod;
    switch (scope.scopeName) {
      case "Terminating":
        return isTerminating(pod);
      case "NotTerminating":
        return !isTerminating(pod);
      case "BestEffort":
        return (pod.status?.qosClass ?? qosClassOf(pod.spec as PodSpec)) === "BestEffort";
      case "NotBestEffort":
        return (pod.status?.qosClass ?? qosClassOf(pod.spec as PodSpec)) !== "BestEffort";
      case "PriorityClass":
        return selects(scope, pod.spec?.priorityClassName || undefined);
      case "CrossNamespacePodAffinity":
        return crossesNamespaces(pod);
      default:
        return false;
    }
  },
  usage(object, nowMs) {
    const pod = object as unknown as Pod;
    const used: Amounts = new Map([["count/pods", one]]);
    if (isOver(pod, nowMs)) return used;
    const spec = pod.spec as PodSpec;
    for (const [name, amount] of computeUsage(podAmounts(spec, "requests"), podAmounts(spec, "limits")))
      used.set(name, amount);
    return used;
  },
  missing(names, object) {
    const spec = (object as unknown as Pod).spec as PodSpec;
    if (spec.resources && (spec.resources.requests || spec.resources.limits)) return undefined;
    const required = demanded.filter((name) => names.includes(name));
    const parts: string[] = [];
    for (const name of required) {
      const without = [...(spec.containers ?? []), ...(spec.initContainers ?? [])]
        .filter(({ resources }) => {
          const field = name.startsWith("limits.") ? resources?.limits : resources?.requests;
          return field?.[name.replace(/^(limits|requests)\./, "")] === undefined;
        })
        .map((container) => container.name)
        .sort(compareBytes);
      if (without.length > 0) parts.push(`${name} for: ${[...new Set(without)].join(",")}`);
    }
    return parts.length > 0 ? `must specify ${parts.join("; ")}` : undefined;
  },
};

// ------------------------------------------------------------------------------- services and claims

const serviceNames = new Set(["count/services", "services", "services.nodeports", "services.loadbalancers"]);

const services: Evaluator = {
  handles: ({ subresource, operation }) =>
    subresource === "" && (operation === "CREATE" || operation === "UPDATE"),
  matching: (names) => names.filter((name) => serviceNames.has(name)),
  matchesScope: () => false,
  usage(object) {
    const { spec } = object as unknown as Service;
    const ports = spec?.ports ?? [];
    const used: Amounts = new Map([
      ["count/services", one],
      ["services", one],
      ["services.loadbalancers", Quantity.of(0)],
      ["services.nodeports", Quantity.of(0)],
    ]);
    const balanced = spec?.type === "LoadBalancer";
    if (spec?.type !== "NodePort" && !balanced) return used;
    const chosen = balanced && spec.allocateLoadBalancerNodePorts === false;
    used.set(
      "services.nodeports",
      Quantity.of(chosen ? ports.filter(({ nodePort }) => nodePort).length : ports.length),
    );
    if (balanced) used.set("services.loadbalancers", one);
    return used;
  },
};

const classSuffix = ".storageclass.storage.k8s.io/";
const claimNames = ["persistentvolumeclaims", "requests.storage"];

function attributeClasses({ spec, status }: PersistentVolumeClaim): string[] {
  return [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ].filter((name): name is string => name !== undefined && name !== "");
}

const claims: Evaluator = {
  handles({ subresource, operation }) {
    if (subresource === "status") return operation === "UPDATE";
    return subresource === "" && (operation === "CREATE" || operation === "UPDATE");
  },
  matching: (names) =>
    names.filter(
      (name) =>
        name === "count/persistentvolumeclaims" ||
        claimNames.includes(name) ||
        claimNames.some((own) => name.endsWith(classSuffix + own)),
    ),
  matchesScope(scope, object) {
    if (scope.scopeName !== "VolumeAttributesClass") return false;
    const names = attributeClasses(object as unknown as PersistentVolumeClaim);
    return names.length === 0 ? selects(scope, undefined) : names.some((name) => selects(scope, name));
  },
  usage(object) {
    const claim = object as unknown as PersistentVolumeClaim;
    const used: Amounts = new Map([
      ["persistentvolumeclaims", one],
      ["count/persistentvolumeclaims", one],
    ]);
    const className =
      claim.metadata?.annotations?.["volume.beta.kubernetes.io/storage-class"] ??
      claim.spec?.storageClassName;
    if (className) used.set(`${className}${classSuffix}persistentvolumeclaims`, one);
    const requested = claim.spec?.resources?.requests?.storage;
    if (requested === undefined) return used;
    let amount = Quantity.from(requested);
    const allocated = claim.status?.allocatedResources?.storage;
    if (allocated !== undefined && Quantity.from(allocated).compare(amount) > 0)
      amount = Quantity.from(allocated);
    used.set("requests.storage", amount);
    if (className) used.set(`${className}${classSuffix}requests.storage`, amount);
    return used;
  },
};

// ---------------------------------------------------------------------------------- everything else

const aliases = new Set(["configmaps", "resourcequotas", "replicationcontrollers", "secrets"]);

function counted(group: string, resource: string): Evaluator {
  const names = [group ? `count/${resource}.${group}` : `count/${resource}`];
  if (group === "" && aliases.has(resource)) names.push(resource);
  return {
    handles: ({ subresource, operation }) => subresource === "" && operation === "CREATE",
    matching: (wanted) => wanted.filter((name) => names.includes(name)),
    matchesScope: () => false,
    usage: () => new Map(names.map((name) => [name, one])),
  };
}

const known = new Map<string, Evaluator>([
  ["/pods", pods],
  ["/services", services],
  ["/persistentvolumeclaims", claims],
]);

/** How objects of a resource count against a quota. */
export function evaluatorOf(group: string, resource: string): Evaluator {
  const key = `${group}/${resource}`;
  let evaluator = known.get(key);
  if (!evaluator) {
    evaluator = counted(group, resource);
    known.set(key, evaluator);
  }
  return evaluator;
}
