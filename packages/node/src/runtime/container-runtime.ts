/**
 * What runs containers, with no Kubernetes in it: pod sandboxes (a network namespace, a host name, an address)
 * and the processes inside them. One implementation makes real processes; another only pretends.
 */
import type { Readable, Writable } from "node:stream";
import type { SeccompProfile } from "./seccomp-profile.ts";

export interface PodSandboxSpec {
  /** Unique among the living and the dead; safe as a file name. */
  readonly id: string;
  readonly hostname: string;
  /** IPv4; with `hostNetwork`, the node's own. */
  readonly address: string;
  /** Shares the node's network namespace instead of having its own. */
  readonly hostNetwork?: boolean;
  /** Who shares a view of processes: the container alone, the pod, or the whole node. Default: the container. */
  readonly processes?: "container" | "pod" | "node";
  /** Of all its containers together. */
  readonly limits?: PodLimits;
  readonly sysctls?: readonly KernelSetting[];
}

/** One of the pod's own namespaces. */
export interface KernelSetting {
  /** Below /proc/sys. */
  readonly path: string;
  readonly value: string;
}

export interface PodSandbox {
  readonly id: string;
  readonly address: string;
  /** Files that live as long as the sandbox. */
  readonly directory: string;
  startContainer(spec: ContainerSpec): Promise<ContainerHandle>;
  /** Changes the limits of the pod as a whole; nothing where there are none. */
  limit(limits: PodLimits): Promise<void>;
  /** Opens a TCP connection to a port as seen from inside, loopback included. */
  connect(port: number): Promise<DuplexPipe>;
  /** Kills what still runs and removes everything. May be called twice. */
  remove(): Promise<void>;
}

export interface DuplexPipe {
  readonly readable: Readable;
  readonly writable: Writable;
  close(): void;
}

export interface ContainerUser {
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
}

export interface ContainerMount {
  readonly source: string;
  /** Absolute path inside the container. */
  readonly target: string;
  readonly readOnly: boolean;
}

export interface ContainerSpec {
  /** Unique in its sandbox; a restart gets a new one. */
  readonly id: string;
  /** Never written to: the container writes to a layer of its own that dies with it. */
  readonly rootfs: string;
  readonly readOnlyRoot: boolean;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly user: ContainerUser;
  readonly mounts: readonly ContainerMount[];
  /** Without the `CAP_` prefix. */
  readonly capabilities: readonly string[];
  /** Which system calls it may make. Default: what container engines allow. */
  readonly seccomp?: SeccompProfile;
  /** Sees all of /proc and may change what the kernel lets it: for privileged containers and sandboxes within. */
  readonly unmasked?: boolean;
  readonly tty?: boolean;
  /** Keeps standard input open for `attach`. */
  readonly stdin?: boolean;
  /** Even without a figure, they can be changed later. */
  readonly limits?: ContainerLimits;
  /** Sees the processes that this process of the node sees, instead of only its own. */
  readonly joins?: number;
  /** Expected to end by itself, as an init container or a job's; only a simulation needs to be told. */
  readonly oneShot?: boolean;
  /** Receives standard output and error, chunk by chunk. */
  onOutput(stream: "stdout" | "stderr", chunk: Buffer): void;
}

export interface ContainerLimits {
  readonly memoryBytes?: number;
  /** Thousandths of a core. */
  readonly cpuMillis?: number;
  readonly cpuShares?: number;
}

export interface PodLimits extends ContainerLimits {
  /** Processes and threads. */
  readonly processes?: number;
}

export interface ContainerExit {
  /** As a shell reports it: 128 plus the signal's number for a death by signal. */
  readonly code: number;
  readonly oomKilled: boolean;
}

export interface ContainerHandle {
  readonly id: string;
  /** The first process, as the node sees it. */
  readonly pid: number;
  /** Resolves once the container is gone and all its output has been delivered. */
  readonly exited: Promise<ContainerExit>;
  /** Standard input, when the spec asked for it. */
  readonly stdin: Writable | undefined;
  /** To the first process. SIGKILL ends all of them. Harmless when it is gone. */
  signal(signal: NodeJS.Signals): void;
  /** Stops or continues every process of the container. */
  freeze(frozen: boolean): Promise<void>;
  /** Changes its limits while it runs; nothing where there are none. */
  limit(limits: ContainerLimits): Promise<void>;
  exec(request: ExecRequest): Promise<ExecSession>;
  resize(size: TerminalSize): Promise<void>;
  /** Bytes of resident memory and nanoseconds of CPU of all its processes. */
  usage(): Promise<ContainerUsage>;
}

export interface ContainerUsage {
  readonly memoryBytes: number;
  readonly cpuNanoseconds: number;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export interface ExecRequest {
  readonly command: readonly string[];
  readonly stdin?: boolean;
  readonly tty?: boolean;
}

export interface ExecSession {
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  /** Absent with a terminal, which has one output. */
  readonly stderr: Readable | undefined;
  /** As a shell reports it; 126 and 127 when the command could not be run. */
  readonly exited: Promise<number>;
  resize(size: TerminalSize): Promise<void>;
  kill(): void;
}

export interface ContainerRuntime {
  /** `sandbox` runs processes; `simulated` only pretends to. */
  readonly kind: "sandbox" | "simulated";
  /** Sentences: what this machine does not let us enforce on pods, and what would help. */
  readonly lacks: readonly string[];
  /** A directory in memory, for files that must not outlive the node; empty where nothing is written. */
  readonly memory: string;
  createPodSandbox(spec: PodSandboxSpec): Promise<PodSandbox>;
}
