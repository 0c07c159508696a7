/** Follows the pods of this node and keeps one worker for each. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Stored } from "@keelson/core";
import type { Node, PodSpec } from "@keelson/core/kinds";
import type { StoredPod } from "../api/api.ts";
import { removeUnmounted } from "../runtime/mounts.ts";
import { type Rejection, rejectionOf } from "./pod-admission.ts";
import { PodWorker } from "./pod-worker.ts";
import { shortageOf } from "./resize.ts";
import type { KubeletServices } from "./services.ts";
import { StatusWriter } from "./status-writer.ts";

export class PodManager {
  readonly #services: KubeletServices;
  readonly #writer: StatusWriter;
  readonly #workers = new Map<string, PodWorker>();
  /** Gone from the API, and still stopping. */
  readonly #leaving = new Map<PodWorker, Promise<void>>();
  readonly #listeners = new Set<() => void>();
  #tidied: Promise<void> | undefined;
  #node: Stored<Node> | undefined;

  constructor(services: KubeletServices) {
    this.#services = services;
    this.#writer = new StatusWriter(services);
  }

  /** Called whenever a pod comes, changes its state, or goes. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Follows the API until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { api, node } = this.#services;
    const following = this.#followNode(signal);
    let listed: Set<string> | undefined;
    for await (const event of api.followPods(node.name, signal)) {
      switch (event.type) {
        case "restart":
          listed = new Set();
          break;
        case "item":
          listed?.add(event.object.metadata.uid);
          this.#see(event.object);
          break;
        case "synced":
          for (const uid of this.#workers.keys())
            if (listed !== undefined && !listed.has(uid)) this.#lose(uid);
          listed = undefined;
          this.#tidied ??= this.#tidy();
          break;
        case "added":
        case "modified":
          this.#see(event.object);
          break;
        case "deleted":
          listed?.delete(event.object.metadata.uid);
          this.#lose(event.object.metadata.uid);
          break;
      }
    }
    await following;
  }

  workers(): PodWorker[] {
    return [...this.#workers.values()];
  }

  find(namespace: string, name: string, uid?: string): PodWorker | undefined {
    return this.workers().find(
      ({ pod: { metadata } }) =>
        metadata.namespace === namespace &&
        metadata.name === name &&
        (uid === undefined || metadata.uid === uid),
    );
  }

  refresh(uids: readonly string[]): void {
    for (const uid of uids) {
      const worker = this.#workers.get(uid);
      void worker?.refreshVolumes();
      worker?.retry();
    }
  }

  /** Ends every process, by force after `graceMs`; the API is told nothing. */
  async powerOff(graceMs: number): Promise<void> {
    const all = [...this.workers(), ...this.#leaving.keys()];
    for (const { pod } of all) this.#writer.forget(pod.metadata.uid);
    await Promise.all([...all.map((worker) => worker.powerOff(graceMs)), this.#tidied]);
  }

  #see(pod: StoredPod): void {
    const uid = pod.metadata.uid;
    const known = this.#workers.get(uid);
    if (known !== undefined) {
      known.update(pod);
      return;
    }
    const worker: PodWorker = new PodWorker(this.#services, this.#writer, pod, {
      onChange: () => this.#changed(),
      shortageOf: (spec) => shortageOf(spec, this.#grantedBeside(worker), this.#services.node.allocatable),
    });
    this.#workers.set(uid, worker);
    const rejection = this.#rejection(worker);
    if (rejection === undefined) worker.wake();
    else void worker.reject(rejection);
  }

  /** A pod that was taken in an earlier life of the node is taken again. */
  #rejection(worker: PodWorker): Rejection | undefined {
    if (worker.state !== "living" || worker.pod.status?.startTime !== undefined) return undefined;
    return rejectionOf(worker.pod.spec, this.#services.admission, {
      allocatable: this.#services.node.allocatable,
      others: this.#grantedBeside(worker),
      node: this.#node,
    });
  }

  /** Labels decide which pods the node takes. */
  async #followNode(signal: AbortSignal): Promise<void> {
    const { api, node, log } = this.#services;
    try {
      for await (const event of api.followNode(node.name, signal)) {
        if (event.type === "item" || event.type === "added" || event.type === "modified")
          this.#node = event.object;
      }
    } catch (error) {
      if (!signal.aborted) log(`node ${node.name} cannot follow its own object: ${String(error)}`);
    }
  }

  /** What the others have that are not over. */
  #grantedBeside(worker: PodWorker): PodSpec[] {
    return this.workers()
      .filter((other) => other !== worker && other.state !== "stopped" && other.state !== "forgotten")
      .map(({ granted }) => granted);
  }

  #lose(uid: string): void {
    const worker = this.#workers.get(uid);
    if (worker === undefined) return;
    this.#workers.delete(uid);
    this.#changed();
    const leaving = worker
      .remove()
      .catch((error: unknown) => this.#services.log(`cannot remove pod ${uid}: ${String(error)}`))
      .finally(() => this.#leaving.delete(worker));
    this.#leaving.set(worker, leaving);
  }

  /** Files of pods that were removed while no node was here to see it. */
  async #tidy(): Promise<void> {
    const { dataDirectory, log } = this.#services;
    const isKnown = (uid: string) =>
      this.#workers.has(uid) || [...this.#leaving.keys()].some(({ pod }) => pod.metadata.uid === uid);
    for (const kind of ["pods", "logs"]) {
      const names = await readdir(join(dataDirectory, kind)).catch(() => []);
      // Logs are named namespace_name_uid, and no UID has an underscore.
      for (const name of names.filter((each) => !isKnown(each.slice(each.lastIndexOf("_") + 1)))) {
        await removeUnmounted(join(dataDirectory, kind, name)).catch((error: unknown) =>
          log(`cannot remove what pod ${name} left: ${String(error)}`),
        );
      }
    }
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
    for (const worker of this.#workers.values()) worker.reconsider();
  }
}
