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

export interface SnapshotInput {
  readonly nodes: readonly NodeObject[];
  /** Pods with a node, also those whose binding is under way. */
  readonly assigned: readonly { readonly pod: PodObject; readonly node: string }[];
  readonly namespaces: readonly ObjectOf<typeof Namespace>[];
  readonly storage: StorageView;
}

export class Snapshot {
  readonly nodes: readonly NodeInfo[];
  readonly storage: StorageView;
  readonly #byName: ReadonlyMap<string, NodeInfo>;
  readonly #namespaceLabels: ReadonlyMap<string, Readonly<Record<string, string>>>;

  private constructor(
    nodes: readonly NodeInfo[],
    storage: StorageView,
    namespaceLabels: ReadonlyMap<string, Readonly<Record<string, string>>>,
  ) {
    this.nodes = nodes;
    this.storage = storage;
    this.#byName = new Map(nodes.map((info) => [info.name, info]));
    this.#namespaceLabels = namespaceLabels;
  }

  static of({ nodes, assigned, namespaces, storage }: SnapshotInput): Snapshot {
    const infos = nodes.map((node) => new NodeInfo(node)).toSorted((a, b) => compareBytes(a.name, b.name));
    const labels = new Map(namespaces.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
    const snapshot = new Snapshot(infos, storage, labels);
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

  /** The same cluster with one node as it would be. */
  with(changed: NodeInfo): Snapshot {
    const nodes = this.nodes.map((info) => (info.name === changed.name ? changed : info));
    return new Snapshot(nodes, this.storage, this.#namespaceLabels);
  }
}
