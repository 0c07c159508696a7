/** What the parts of the kubelet share. */
import type { Clock, Random } from "@keelson/core";
import type { ResolvedImage } from "@keelson/images";
import type { IdMode } from "@keelson/machine";
import type { NodeApi, StoredPod } from "../api/api.ts";
import type { DownwardContext } from "../environment/downward.ts";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";
import type { EventRecorder } from "./event-recorder.ts";
import type { AdmissionPolicy } from "./pod-admission.ts";
import type { ClusterDns } from "./pod-files.ts";
import type { ReferenceCache } from "./references.ts";

/** Images as the kubelet needs them; the work is done where there is a network. */
export interface NodeImages {
  /** What is here already, without any network. */
  find(image: string): Promise<ResolvedImage | undefined>;
  /** Makes the image available; throws an `ImageError` whose message says what to do. */
  pull(image: string, secrets: readonly PullSecret[]): Promise<ResolvedImage>;
}

export interface PullSecret {
  readonly registry: string;
  readonly username: string;
  readonly password: string;
}

/** Addresses for pods. */
export interface AddressPool {
  /** `preferred` if it is free: a pod that comes back keeps its address where it can. */
  allocate(preferred?: string): string;
  release(address: string): void;
}

export interface NodeFacts {
  readonly name: string;
  /** The node's address as its pods see it. */
  readonly hostAddress: string;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly dns: ClusterDns;
}

export interface KubeletServices {
  readonly api: NodeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly runtime: ContainerRuntime;
  readonly ids: IdMode;
  readonly images: NodeImages;
  readonly addresses: AddressPool;
  readonly references: ReferenceCache;
  readonly recorder: EventRecorder;
  readonly node: NodeFacts;
  /** Variables for the services that pods of a namespace can see. */
  readonly serviceEnvironment: (namespace: string, links: boolean) => Readonly<Record<string, string>>;
  /** Resolves when what is sent to and from a new pod is filtered as policies say. */
  readonly filterTraffic: () => Promise<void>;
  /** Where seccomp profiles of one's own are. */
  readonly seccompDirectory: string;
  readonly admission: AdmissionPolicy;
  /** Most processes and threads of a pod. */
  readonly podPidsLimit: number;
  /** Survives the node: logs, volumes and records of pods. */
  readonly dataDirectory: string;
  readonly log: (message: string) => void;
}

export function downwardContext(services: KubeletServices, pod: StoredPod, address: string): DownwardContext {
  const { name, hostAddress, allocatable } = services.node;
  return { pod, podAddress: address, hostAddress, nodeName: name, allocatable };
}
