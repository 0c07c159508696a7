/** The cluster at one moment, as one scheduling decision sees it. */
import type { ObjectOf } from "@keelson/core";
import { compareBytes } from "@keelson/core/internal";
import type { Namespace, PersistentVolume, PersistentVolumeClaim, StorageClass } from "@keelson/core/kinds";
import type { NodeObject, PodObject } from "@keelson/workloads";
import { NodeInfo, podInfo } from "./node-info.ts";

export type ClaimObject = ObjectOf<typeof PersistentVolumeClaim>;
export type VolumeObject = ObjectOf<typeof PersistentVolume>;
export type ClassObject = ObjectOf<typeof StorageClass>;

/** Storage as the scheduler reads it. */
export interface StorageView {
  claim(namespace: string, name: string): ClaimObject | undefined;
  volume(name: string): VolumeObject | undefined;
  volumesOfClass(name: string): readonly VolumeObject[];
  storageClass(name: string): ClassObject | undefined;
}

export interface Placed {
  readonly pod: PodObject;
  readonly node: string;
}

export interface SnapshotInput {
  readonly nodes: readonly NodeObject[];
  /** Pods with a node, also those whose binding is under way. */
  readonly assigned: readonly Placed[];
  /** Pods without a node for which room is being made on one. */
  readonly nominated?: readonly Placed[];
  readonly namespaces: readonly ObjectOf<typeof Namespace>[];
  readonly storage: StorageView;
}

export class Snapshot {
  readonly nodes: readonly NodeInfo[];
  readonly storage: StorageView;
  readonly #byName: ReadonlyMap<string, NodeInfo>;
  readonly #namespaceLabels: ReadonlyMap<string, Readonly<Record<string, string>>>;
  readonly #nominated: Placed[];

  private constructor(
    nodes: readonly NodeInfo[],
    storage: StorageView,
    namespaceLabels: ReadonlyMap<string, Readonly<Record<string, string>>>,
    nominated: Placed[],
  ) {
    this.#nominated = nominated;
    this.nodes = nodes;
    this.storage = storage;
    this.#byName = new Map(nodes.map((info) => [info.name, info]));
    this.#namespaceLabels = namespaceLabels;
  }

  static of({ nodes, assigned, nominated = [], namespaces, storage }: SnapshotInput): Snapshot {
    const infos = nodes.map((node) => new NodeInfo(node)).toSorted((a, b) => compareBytes(a.name, b.name));
    const labels = new Map(namespaces.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
    const snapshot = new Snapshot(infos, storage, labels, [...nominated]);
    for (const { pod, node } of assigned) snapshot.assign(pod, node);
    return snapshot;
  }

  namespaceLabels(name: string): Readonly<Record<string, string>> {
    return this.#namespaceLabels.get(name) ?? {};
  }

  /** From here on the pod counts on the node. */
  assign(pod: PodObject, node: string): void {
    this.#byName.get(node)?.add(podInfo(pod));
  }

  /** From here on the node's room is kept for the pod. */
  nominate(pod: PodObject, node: string): void {
    this.#nominated.push({ pod, node });
  }

  /** As the pod's decision sees it: room that is kept for another pod, unless that is less important, is taken. */
  seenBy(pod: PodObject): Snapshot {
    const priority = pod.spec.priority ?? 0;
    const kept = this.#nominated.filter(
      ({ pod: other }) => other.metadata.uid !== pod.metadata.uid && (other.spec.priority ?? 0) >= priority,
    );
    if (kept.length === 0) return this;
    const nodes = this.nodes.map((info) => {
      const pods = kept.filter(({ node }) => node === info.name);
      if (pods.length === 0) return info;
      const changed = info.without(new Set());
      for (const { pod: other } of pods) changed.add(podInfo(other));
      return changed;
    });
    return new Snapshot(nodes, this.storage, this.#namespaceLabels, this.#nominated);
  }

  /** The same cluster with one node as it would be. */
  with(changed: NodeInfo): Snapshot {
    const nodes = this.nodes.map((info) => (info.name === changed.name ? changed : info));
    return new Snapshot(nodes, this.storage, this.#namespaceLabels, this.#nominated);
  }
}
