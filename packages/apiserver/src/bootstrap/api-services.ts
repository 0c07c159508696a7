/** APIServices of what the server serves itself: one for each group-version, always available. */
import { type Clock, formatTime, type Random } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import type { Registry } from "../registry/registry.ts";
import type { Store } from "../storage/store.ts";
import type { Table } from "../storage/table.ts";
import { groupVersions } from "../tables/index.ts";
import { locallyAvailable } from "../validation/apiregistration.ts";
import { ownedByServer } from "./owners.ts";

const managed = "kube-aggregator.kubernetes.io/automanaged";

interface Served {
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
}

/** Those of the built-in groups. */
export function builtinApiServices(nowMs: number): ApiObject[] {
  return groupVersions().flatMap(({ group, version, groupPriority, versionPriority }) =>
    groupPriority === undefined || versionPriority === undefined
      ? []
      : [apiService({ group, version, groupPriority, versionPriority }, "onstart", nowMs)],
  );
}

/** Of another group that the server answers for itself. */
export function localApiService(served: Served, nowMs: number): ApiObject {
  return apiService(served, "onstart", nowMs);
}

function apiService(served: Served, management: "onstart" | "true", nowMs: number): ApiObject {
  const { group, version, groupPriority, versionPriority } = served;
  return {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: `${version}.${group}`, labels: { [managed]: management } },
    spec: {
      ...(group && { group }),
      version,
      groupPriorityMinimum: groupPriority,
      versionPriority,
    },
    status: { conditions: [locallyAvailable(nowMs)] },
  };
}

/** Keeps the APIServices of custom resources in step with what the registry serves. */
export class CustomApiServices {
  readonly #store: Store;
  readonly #registry: Registry;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #table: Table;

  constructor(parts: { store: Store; registry: Registry; clock: Clock; random: Random }) {
    this.#store = parts.store;
    this.#registry = parts.registry;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#table = parts.store.table("apiregistration.k8s.io/apiservices");
  }

  /** To be called when what is served of a group may have changed. Others' APIServices are left alone. */
  settle(group: string): void {
    const nowMs = this.#clock.now();
    const versions = new Set<string>();
    for (const resource of this.#registry.all())
      if (resource.custom && resource.group === group)
        for (const version of resource.versions.keys()) versions.add(version);
    for (const object of this.#table.range("")) {
      const { group: of, version } = (object.spec ?? {}) as { group?: string; version?: string };
      if (object.metadata.labels?.[managed] !== "true" || of !== group || versions.has(version ?? ""))
        continue;
      this.#store.delete(this.#table, object.metadata.name, object);
    }
    for (const version of versions) {
      const name = `${version}.${group}`;
      if (this.#table.get(name)) continue;
      const served = { group, version, groupPriority: 1000, versionPriority: 100 };
      const { metadata, ...rest } = ownedByServer(apiService(served, "true", nowMs), nowMs);
      const identity = { uid: this.#random.uuid(), creationTimestamp: formatTime(nowMs) };
      this.#store.create(this.#table, name, { ...rest, metadata: { ...metadata, ...identity } });
    }
  }
}
