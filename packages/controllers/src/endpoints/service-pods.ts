/** Services and the pods behind them: what endpoints of every form have in common. */
import { labelSelectorFromLabels, matchesLabels, type ObjectOf, objectKey } from "@keelson/core";
import type { Service, ServicePort } from "@keelson/core/kinds";
import type { CacheReader, Change } from "@keelson/runtime/internal";
import { isPodFinished, type PodObject, podCondition } from "@keelson/workloads";
import { cacheNamed } from "../acting/acting.ts";

export type ServiceObject = ObjectOf<typeof Service>;

export const headlessLabel = "service.kubernetes.io/headless";
export const lastChangeAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";

/** Services whose endpoints are found by a selector. Others are managed by hand. */
export function hasSelector({ spec }: ServiceObject): boolean {
  return spec.type !== "ExternalName" && spec.selector !== undefined;
}

export function isHeadless({ spec }: ServiceObject): boolean {
  return spec.clusterIP === "None" || !spec.clusterIP;
}

export function selectedPods(service: ServiceObject, pods: CacheReader<PodObject>): PodObject[] {
  const selector = labelSelectorFromLabels(service.spec.selector ?? {});
  return pods.list(service.metadata.namespace).filter((pod) => matchesLabels(selector, pod.metadata.labels));
}

/** The services that select a pod, or did before it changed. Looks in the cache named `services`. */
export function servicesOfPod(
  { object, previous }: Pick<Change<PodObject>, "object" | "previous">,
  caches: Readonly<Record<string, CacheReader<never>>>,
): Iterable<string> {
  const keys = new Set<string>();
  for (const service of cacheNamed<ServiceObject>(caches, "services").list(object.metadata.namespace)) {
    if (!hasSelector(service)) continue;
    const selector = labelSelectorFromLabels(service.spec.selector ?? {});
    const isSelected = [object, previous].some((pod) => pod && matchesLabels(selector, pod.metadata.labels));
    if (isSelected) keys.add(objectKey(service));
  }
  return keys;
}

export function belongsInEndpoints(pod: PodObject, withTerminating: boolean): boolean {
  if (isPodFinished(pod)) return false;
  if (!pod.status?.podIP && (pod.status?.podIPs ?? []).length === 0) return false;
  return withTerminating || pod.metadata.deletionTimestamp === undefined;
}

/** The pod's host name is published by the headless service that it names as its subdomain. */
export function publishedHostname(pod: PodObject, service: ServiceObject): string | undefined {
  const { hostname, subdomain } = pod.spec;
  return hostname && subdomain === service.metadata.name ? hostname : undefined;
}

/** The number of the port that a service port leads to in this pod. */
export function targetPort(pod: PodObject, { port, targetPort: target, protocol = "TCP" }: ServicePort) {
  if (target === undefined || target === 0 || target === "") return port;
  if (typeof target === "number") return target;
  const sidecars = (pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  for (const container of [...pod.spec.containers, ...sidecars]) {
    const found = container.ports?.find(
      ({ name, protocol: own = "TCP" }) => name === target && own === protocol,
    );
    if (found) return found.containerPort;
  }
  return undefined;
}

interface Times {
  readonly service: string;
  readonly pods: ReadonlyMap<string, string>;
}

/** Remembers what happened when, to say since when endpoints should have been as they are now. */
export class TriggerTimes {
  readonly #known = new Map<string, Times>();

  /** The earliest of the changes since the last call; undefined when nothing that is dated changed. */
  next(service: ServiceObject, pods: readonly PodObject[]): string | undefined {
    const key = objectKey(service);
    const before = this.#known.get(key);
    const created = service.metadata.creationTimestamp;
    const times = new Map<string, string>();
    for (const pod of pods) {
      const since = podCondition(pod, "Ready")?.lastTransitionTime;
      if (since) times.set(pod.metadata.name, since);
    }
    this.#known.set(key, { service: created, pods: times });
    if (!before) return created;
    const changed = [...times]
      .filter(([name, time]) => time > (before.pods.get(name) ?? ""))
      .map(([, time]) => time);
    if (created > before.service) changed.push(created);
    return changed.sort()[0];
  }

  forget(key: string): void {
    this.#known.delete(key);
  }
}
