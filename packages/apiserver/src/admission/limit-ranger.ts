/** LimitRanger: defaults and bounds that a namespace sets for its containers, pods and claims. */
import { Quantity } from "@keelson/core";
import { compareBytes } from "@keelson/core/internal";
import type {
  Container,
  LimitRange,
  LimitRangeItem,
  PersistentVolumeClaim,
  Pod,
  PodSpec,
} from "@keelson/core/kinds";
import { type Amounts, amountsOf, containerAmounts } from "@keelson/workloads";
import type { AdmissionPlugin, AdmissionRequest } from "../contracts/admission.ts";
import type { StoreReader } from "../contracts/store.ts";
import { refused } from "./refusals.ts";

type List = Record<string, string | number>;

export function limitRanger(store: StoreReader): AdmissionPlugin {
  const ranges = (request: AdmissionRequest): readonly LimitRange[] => {
    if (!supports(request) || request.oldObject?.metadata.deletionTimestamp) return [];
    return store.list({ group: "", resource: "limitranges" }, request.namespace) as unknown as LimitRange[];
  };
  return {
    name: "LimitRanger",
    admit(request) {
      if (request.resource.resource !== "pods" || !request.namespace) return;
      for (const range of ranges(request)) setDefaults(request.object as unknown as Pod, range);
    },
    validate(request) {
      for (const range of ranges(request)) {
        const problems =
          request.resource.resource === "pods"
            ? podProblems(request.object as unknown as Pod, range)
            : claimProblems(request.object as unknown as PersistentVolumeClaim, range);
        if (problems.length > 0)
          throw refused(
            request,
            problems.length === 1 ? (problems[0] as string) : `[${problems.join(", ")}]`,
          );
      }
    },
  };
}

function supports({ resource, kind, subresource, operation, namespace }: AdmissionRequest): boolean {
  if (resource.group !== "" || !namespace) return false;
  if (operation !== "CREATE" && operation !== "UPDATE") return false;
  if (kind.kind === "Pod") return operation === "CREATE" ? subresource === "" : subresource === "resize";
  return kind.kind === "PersistentVolumeClaim" && subresource === "";
}

function setDefaults(pod: Pod, range: LimitRange): void {
  const limits: List = {};
  const requests: List = {};
  for (const item of range.spec?.limits ?? []) {
    if (item.type !== "Container") continue;
    Object.assign(requests, item.defaultRequest);
    Object.assign(limits, item.default);
  }
  const notes: string[] = [];
  const spec = pod.spec as PodSpec;
  for (const container of spec.containers ?? []) fill(container, "container", limits, requests, notes);
  for (const container of spec.initContainers ?? [])
    fill(container, "init container", limits, requests, notes);
  if (notes.length === 0) return;
  pod.metadata ??= {};
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    "kubernetes.io/limit-ranger": `LimitRanger plugin set: ${notes.join("; ")}`,
  };
}

function fill(container: Container, what: string, limits: List, requests: List, notes: string[]): void {
  const resources = { ...container.resources };
  const add = (field: "limits" | "requests", defaults: List): string[] => {
    const own: List = { ...resources[field] };
    const missing = Object.keys(defaults).filter((name) => own[name] === undefined);
    for (const name of missing) own[name] = defaults[name] as string;
    if (missing.length > 0) resources[field] = own;
    return missing.sort(compareBytes);
  };
  const setLimits = add("limits", limits);
  const setRequests = add("requests", requests);
  if (setRequests.length > 0) notes.push(`${setRequests.join(", ")} request for ${what} ${container.name}`);
  if (setLimits.length > 0) notes.push(`${setLimits.join(", ")} limit for ${what} ${container.name}`);
  if (setLimits.length + setRequests.length > 0) container.resources = resources;
}

function* bounds(list: Readonly<List> | undefined): Generator<[string, Quantity]> {
  for (const name of Object.keys(list ?? {}).sort(compareBytes))
    yield [name, Quantity.from(list?.[name] as string)];
}

function minProblem(type: string, name: string, bound: Quantity, request?: Quantity, limit?: Quantity) {
  const text = `minimum ${name} usage per ${type} is ${bound}`;
  if (!request) return `${text}.  No request is specified`;
  if (request.compare(bound) < 0) return `${text}, but request is ${request}`;
  if (limit && limit.compare(bound) < 0) return `${text}, but limit is ${limit}`;
  return undefined;
}

function maxProblem(type: string, name: string, bound: Quantity, request?: Quantity, limit?: Quantity) {
  const text = `maximum ${name} usage per ${type} is ${bound}`;
  if (!limit) return `${text}.  No limit is specified`;
  if (limit.compare(bound) > 0) return `${text}, but limit is ${limit}`;
  if (request && request.compare(bound) > 0) return `${text}, but request is ${request}`;
  return undefined;
}

function ratioProblem(type: string, name: string, bound: Quantity, request?: Quantity, limit?: Quantity) {
  const text = `${name} max limit to request ratio per ${type} is ${bound}`;
  if (!request || request.isZero()) return `${text}, but no request is specified or request is 0`;
  if (!limit || limit.isZero()) return `${text}, but no limit is specified or limit is 0`;
  const ratio = Number(limit.milliValue()) / Number(request.milliValue());
  if (ratio > bound.toNumber()) return `${text}, but provided ratio is ${ratio.toFixed(6)}`;
  return undefined;
}

function check(item: LimitRangeItem, requests: Amounts, limits: Amounts): string[] {
  const problems: (string | undefined)[] = [];
  for (const [name, bound] of bounds(item.min))
    problems.push(minProblem(item.type, name, bound, requests.get(name), limits.get(name)));
  for (const [name, bound] of bounds(item.max))
    problems.push(maxProblem(item.type, name, bound, requests.get(name), limits.get(name)));
  for (const [name, bound] of bounds(item.maxLimitRequestRatio))
    problems.push(ratioProblem(item.type, name, bound, requests.get(name), limits.get(name)));
  return problems.filter((problem) => problem !== undefined);
}

function podProblems(pod: Pod, range: LimitRange): string[] {
  const problems: string[] = [];
  const spec = pod.spec as PodSpec;
  for (const item of range.spec?.limits ?? []) {
    if (item.type === "Container")
      for (const { resources } of [...(spec.containers ?? []), ...(spec.initContainers ?? [])])
        problems.push(...check(item, amountsOf(resources?.requests), amountsOf(resources?.limits)));
    if (item.type === "Pod") {
      const requests = withPodLevel(containerAmounts(spec, "requests"), spec.resources?.requests);
      const limits = withPodLevel(containerAmounts(spec, "limits"), spec.resources?.limits);
      problems.push(...check(item, requests, limits));
    }
  }
  return problems;
}

function withPodLevel(amounts: Amounts, own: Readonly<List> | undefined): Amounts {
  for (const name of ["cpu", "memory"]) {
    const value = own?.[name];
    if (value !== undefined) amounts.set(name, Quantity.from(value));
  }
  return amounts;
}

function claimProblems(claim: PersistentVolumeClaim, range: LimitRange): string[] {
  const requests = amountsOf(claim.spec?.resources?.requests);
  const problems: string[] = [];
  for (const item of range.spec?.limits ?? []) {
    if (item.type !== "PersistentVolumeClaim") continue;
    for (const [name, bound] of bounds(item.min)) {
      const problem = minProblem(item.type, name, bound, requests.get(name));
      if (problem) problems.push(problem);
    }
    for (const [name, bound] of bounds(item.max)) {
      const request = requests.get(name);
      const text = `maximum ${name} usage per ${item.type} is ${bound}`;
      if (!request) problems.push(`${text}.  No request is specified`);
      else if (request.compare(bound) > 0) problems.push(`${text}, but request is ${request}`);
    }
  }
  return problems;
}
