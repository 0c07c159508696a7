/** One node's kubelet: registration, pods, and what they need. */
import type { Clock, Random, Stored } from "@keelson/core";
import type { Service } from "@keelson/core/kinds";
import type { IdMode } from "@keelson/machine";
import type { NodeApi } from "../api/api.ts";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";
import { RangePool } from "./address-pool.ts";
import { ApiEventRecorder } from "./event-recorder.ts";
import { NodeRegistration } from "./node-registration.ts";
import { allocatableOf } from "./node-status.ts";
import type { ClusterDns } from "./pod-files.ts";
import { PodManager } from "./pod-manager.ts";
import { makePrivate } from "./private-data.ts";
import { ReferenceCache } from "./references.ts";
import { serviceEnvironment } from "./service-environment.ts";
import type { KubeletServices, NodeImages } from "./services.ts";

export interface KubeletOptions {
  readonly name: string;
  readonly api: NodeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly runtime: ContainerRuntime;
  readonly ids: IdMode;
  readonly images: NodeImages & {
    list(): Promise<readonly { readonly names: readonly string[]; readonly sizeBytes: number }[]>;
  };
  readonly podCidr: string;
  readonly hostAddress: string;
  /** A name by which the API server reaches this node's kubelet, which its address need not be known to. */
  readonly reachableAs: string;
  readonly kubeletPort: number;
  readonly dns: ClusterDns;
  readonly dataDirectory: string;
  readonly maxPods?: number;
  /** Most processes and threads of a pod. Default: 4096. */
  readonly podPidsLimit?: number;
  /** Kernel settings that pods may ask for beyond the safe ones. */
  readonly allowedUnsafeSysctls?: readonly string[];
  /** Where seccomp profiles of one's own are. */
  readonly seccompDirectory: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Why pods are simulated, when they are. */
  readonly simulated?: string;
  /** Resolves when what is sent to and from a new pod is filtered as policies say. */
  readonly filterTraffic?: () => Promise<void>;
  /** Sentences: which policies of the network are not enforced, and why. */
  readonly networkLacks?: () => readonly string[];
  /** The services that exist, for the variables of containers. */
  readonly services: () => readonly Stored<Service>[];
  readonly log: (message: string) => void;
}

export class Kubelet {
  readonly name: string;
  readonly pods: PodManager;
  readonly registration: NodeRegistration;
  readonly recorder: ApiEventRecorder;
  readonly #options: KubeletOptions;
  readonly #abort = new AbortController();
  #following: Promise<void> | undefined;

  constructor(options: KubeletOptions) {
    const { api, clock, random, name, log } = options;
    this.name = name;
    this.#options = options;
    makePrivate(options.dataDirectory);
    this.recorder = new ApiEventRecorder({ api, clock, random, host: name });
    const maxPods = options.maxPods ?? 110;
    this.registration = new NodeRegistration({
      ...{ api, clock, name, log, maxPods },
      dataDirectory: options.dataDirectory,
      address: options.hostAddress,
      reachableAs: options.reachableAs,
      kubeletPort: options.kubeletPort,
      podCidr: options.podCidr,
      runtime: options.runtime.kind,
      simulated: options.simulated,
      lacks: () => [...options.runtime.lacks, ...(options.networkLacks?.() ?? [])],
      labels: options.labels,
      images: () => options.images.list(),
    });
    const references = new ReferenceCache(api, (uids) => this.pods.refresh(uids));
    const services: KubeletServices = {
      ...{ api, clock, random, log, references },
      runtime: options.runtime,
      ids: options.ids,
      images: options.images,
      addresses: new RangePool(options.podCidr),
      recorder: this.recorder,
      node: {
        name,
        hostAddress: options.hostAddress,
        allocatable: allocatableOf(this.registration.machine, maxPods),
        dns: options.dns,
      },
      serviceEnvironment: (namespace, links) => visibleServices(options.services(), namespace, links),
      dataDirectory: options.dataDirectory,
      podPidsLimit: options.podPidsLimit ?? 4096,
      seccompDirectory: options.seccompDirectory,
      filterTraffic: options.filterTraffic ?? (() => Promise.resolve()),
      admission: { allowedUnsafeSysctls: options.allowedUnsafeSysctls ?? [] },
    };
    this.pods = new PodManager(services);
  }

  /** Registers the node and follows its pods; resolves when the node is Ready. */
  async start(): Promise<void> {
    const { name, log } = this.#options;
    await this.registration.register();
    this.#following = this.pods.run(this.#abort.signal).catch((error: unknown) => {
      if (!this.#abort.signal.aborted) log(`node ${name} lost its pods' watch for good: ${String(error)}`);
    });
    await this.registration.ready();
    this.recorder.event(
      { apiVersion: "v1", kind: "Node", name, uid: name },
      "Normal",
      "Starting",
      "Starting kubelet.",
    );
  }

  /** The network enforces more or less than before. */
  networkChanged(problems: readonly string[]): void {
    const { name, log } = this.#options;
    for (const message of problems) {
      const node = { apiVersion: "v1", kind: "Node", name, uid: name };
      this.recorder.event(node, "Warning", "NetworkPolicyNotEnforced", message);
    }
    this.registration.changed().catch((error: unknown) => log(String(error)));
  }

  /** Ends everything within `graceMs`; the API is not told. */
  async powerOff(graceMs: number): Promise<void> {
    this.#abort.abort();
    this.registration.stop();
    await this.pods.powerOff(graceMs);
    await this.#following;
  }
}

/** A pod sees its namespace's services, and always the API server. */
function visibleServices(services: readonly Stored<Service>[], namespace: string, links: boolean) {
  const isMaster = (service: Stored<Service>) =>
    service.metadata.namespace === "default" && service.metadata.name === "kubernetes";
  return serviceEnvironment(
    services.filter((service) => isMaster(service) || (links && service.metadata.namespace === namespace)),
  );
}
