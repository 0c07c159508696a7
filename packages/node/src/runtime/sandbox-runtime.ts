/** The runtime that makes real processes: pod namespaces, overlay roots, bubblewrap. Runs inside the node's namespace. */
import { existsSync } from "node:fs";
import { lstat, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { IdMode } from "@keelson/machine";
import { NodeError } from "../errors.ts";
import { playsAnotherUser } from "./bubblewrap.ts";
import { type Cgroups, openCgroups, type PodGroup } from "./cgroups.ts";
import type {
  ContainerHandle,
  ContainerRuntime,
  ContainerSpec,
  DuplexPipe,
  PodLimits,
  PodSandbox,
  PodSandboxSpec,
} from "./container-runtime.ts";
import { FifoPool } from "./fifo-pool.ts";
import { type KernelPaths, kernelPaths } from "./kernel-paths.ts";
import { planMounts } from "./mount-plan.ts";
import { removalOf } from "./mounts.ts";
import { connectInside, connectTo } from "./pod-connection.ts";
import {
  createPodNamespace,
  enterOptions,
  type NamespaceTools,
  prepareNodeNetwork,
  removePodNamespace,
} from "./pod-namespace.ts";
import { holdProcesses, type ProcessHolder } from "./process-holder.ts";
import { ProgramFiles } from "./program-files.ts";
import { type ContainerTools, startContainer } from "./sandbox-container.ts";
import { type SeccompOptions, seccompFilter } from "./seccomp-profile.ts";
import { escapeOverlay, quote, runScript } from "./shell.ts";
import { knownProcessor, type Processor } from "./syscalls.ts";

export interface SandboxTools extends NamespaceTools, ContainerTools {}

export interface SandboxRuntimeOptions {
  /** Everything of the sandboxes lives here; emptied at start, for whatever an earlier node left. */
  readonly directory: string;
  readonly tools: SandboxTools;
  readonly ids: IdMode;
  /** The node's address as pods see it. */
  readonly gateway: string;
  /** Name of the control group that limits are set in; the caller that chose it removes it. */
  readonly group: string;
  readonly log?: (message: string) => void;
}

export class SandboxRuntime implements ContainerRuntime {
  readonly kind = "sandbox";
  readonly #options: SandboxRuntimeOptions;
  readonly #fifos: FifoPool;
  readonly #machine: MachineParts;
  #links = 0;

  private constructor(options: SandboxRuntimeOptions, machine: MachineParts) {
    this.#options = options;
    this.#fifos = new FifoPool(join(options.directory, "pipes"));
    this.#machine = machine;
  }

  static async start(options: SandboxRuntimeOptions): Promise<SandboxRuntime> {
    const { directory, tools } = options;
    const processor = knownProcessor();
    if (processor === undefined) {
      throw new NodeError(
        "SandboxUnsupported",
        `pods run as processes on x64 and arm64 only, and this is ${process.arch}`,
      );
    }
    await rm(directory, { recursive: true, force: true });
    await mkdir(join(directory, "pods"), { recursive: true, mode: 0o700 });
    await mountMemory(join(directory, "memory"));
    const [programs, lastCapability] = await Promise.all([
      ProgramFiles.open(join(directory, "memory", "programs")),
      readFile("/proc/sys/kernel/cap_last_cap", "utf8").then(Number),
      prepareNodeNetwork(tools, options.gateway),
    ]);
    const cgroups = options.ids === "all" ? await openCgroups(options.group) : undefined;
    for (const sentence of lacksOf(options.ids, cgroups)) options.log?.(sentence);
    return new SandboxRuntime(options, {
      ...{ processor, programs, lastCapability, cgroups },
      kernelPaths: kernelPaths(),
      filter: rememberedFilters(processor),
    });
  }

  async #holder(
    directory: string,
    hostNetwork: boolean,
    group: PodGroup | undefined,
  ): Promise<ProcessHolder> {
    const { processor, programs, lastCapability } = this.#machine;
    const { tools, ids } = this.#options;
    return await holdProcesses({
      ...{ tools, ids, processor, programs, lastCapability },
      enter: enterOptions(directory, hostNetwork),
      group: (await group?.create("pause", {}))?.enter ?? [],
      filter: this.#machine.filter({ profile: { kind: "default" }, capabilities: [], pretendIds: false }),
    });
  }

  get lacks(): readonly string[] {
    return lacksOf(this.#options.ids, this.#machine.cgroups);
  }

  get memory(): string {
    return join(this.#options.directory, "memory");
  }

  async createPodSandbox(spec: PodSandboxSpec): Promise<PodSandbox> {
    const directory = join(this.#options.directory, "pods", spec.id);
    const link = `kl${(this.#links++).toString(36)}`;
    const hostNetwork = spec.hostNetwork ?? false;
    await mkdir(join(directory, "containers"), { recursive: true });
    for (const name of ["shm", "sys"]) await mkdir(join(directory, name));
    const { address } = spec;
    const { tools, gateway } = this.#options;
    let group: PodGroup | undefined;
    let holder: ProcessHolder | undefined;
    try {
      await createPodNamespace(tools, { ...spec, address, gateway, link, hostNetwork }, directory);
      group = await this.#machine.cgroups?.createPod(spec.id, spec.limits ?? {});
      if (spec.processes === "pod") holder = await this.#holder(directory, hostNetwork, group);
    } catch (error) {
      await group?.remove();
      await removePodNamespace(tools, directory, hostNetwork ? undefined : link);
      throw error;
    }
    return new RealPodSandbox({
      ...{ id: spec.id, address, directory, tools, hostNetwork, holder, group },
      processes: spec.limits?.processes,
      joins: spec.processes === "node" ? "node" : holder?.pid,
      link: hostNetwork ? undefined : link,
      ids: this.#options.ids,
      log: this.#options.log,
      fifos: this.#fifos,
      machine: this.#machine,
    });
  }
}

/** Gone with the node's namespace, however that ends, and never on a disk; programs in it can be run. */
async function mountMemory(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await runScript([`mount -t tmpfs -o mode=700,nosuid,nodev memory ${quote(directory)}`], {
    code: "SandboxUnsupported",
    doing: "mount a place in memory",
  });
}

function lacksOf(ids: IdMode, cgroups: Cgroups | undefined): string[] {
  return [
    ...(cgroups === undefined
      ? [
          "memory and CPU limits are not enforced, and all pods share one limit on processes: control groups cannot be made here; root usually can",
        ]
      : []),
    ...(ids === "single"
      ? [
          "all containers run as one user of this machine, so fsGroup has no effect and runAsUser is only what they see: there are no subordinate ids; newuidmap and a line in /etc/subuid and /etc/subgid give them",
        ]
      : []),
  ];
}

/** What all containers of the node are made with. */
interface MachineParts {
  readonly processor: Processor;
  readonly programs: ProgramFiles;
  readonly lastCapability: number;
  readonly kernelPaths: KernelPaths;
  readonly filter: (options: SeccompOptions) => Buffer;
  readonly cgroups: Cgroups | undefined;
}

/** Most containers of a node have the same filter. */
function rememberedFilters(processor: Processor): (options: SeccompOptions) => Buffer {
  const made = new Map<string, Buffer>();
  return (options) => {
    const key = JSON.stringify([options.profile, options.capabilities, options.pretendIds]);
    const filter = made.get(key) ?? seccompFilter(options, processor);
    if (made.size >= mostFilters) made.clear();
    made.set(key, filter);
    return filter;
  };
}

const mostFilters = 100;

interface RealPodOptions {
  readonly id: string;
  readonly address: string;
  readonly directory: string;
  readonly link: string | undefined;
  readonly hostNetwork: boolean;
  /** Keeps the pod's own view of processes, when it has one. */
  readonly holder: ProcessHolder | undefined;
  /** The process whose view of processes the containers share, when they share one. */
  readonly joins: number | "node" | undefined;
  readonly tools: SandboxTools;
  readonly ids: IdMode;
  readonly log: ((message: string) => void) | undefined;
  readonly fifos: FifoPool;
  readonly group: PodGroup | undefined;
  /** Most processes of a container's user, where there is no group. */
  readonly processes: number | undefined;
  readonly machine: MachineParts;
}

class RealPodSandbox implements PodSandbox {
  readonly id: string;
  readonly address: string;
  readonly directory: string;
  readonly #options: RealPodOptions;
  readonly #running = new Set<ContainerHandle>();
  readonly #starting = new Set<Promise<unknown>>();
  /** Removals of dead containers' directories: nothing else may remove what they have mounted. */
  readonly #clearing = new Map<string, Promise<void>>();
  #removed: Promise<void> | undefined;

  constructor(options: RealPodOptions) {
    this.id = options.id;
    this.address = options.address;
    this.directory = options.directory;
    this.#options = options;
  }

  async startContainer(spec: ContainerSpec): Promise<ContainerHandle> {
    if (this.#removed !== undefined)
      throw new NodeError("SandboxFailed", `the sandbox of pod ${this.id} is gone`);
    const home = join(this.directory, "containers", spec.id);
    const starting = this.#start(spec, home).catch(async (error: unknown) => {
      await this.#clear(home);
      throw error;
    });
    this.#starting.add(starting);
    try {
      return await starting;
    } finally {
      this.#starting.delete(starting);
    }
  }

  async #start(spec: ContainerSpec, home: string): Promise<ContainerHandle> {
    const { tools, ids, fifos } = this.#options;
    const { kernelPaths, ...machine } = this.#options.machine;
    await this.#mountRoot(spec, home);
    const group = await this.#options.group?.create(spec.id, spec.limits ?? {});
    const joins = this.#joins(spec);
    const { mounts, cwd, makesCwd } = await planMounts(spec, join(home, "mounts"));
    const handle = await startContainer(
      { ...spec, mounts, cwd },
      {
        ...machine,
        tools,
        fifos,
        filter: machine.filter({
          profile: spec.seccomp ?? { kind: "default" },
          capabilities: spec.capabilities,
          pretendIds: ids === "single" && spec.user.uid === 0,
        }),
        view: {
          ...{ ids, kernelPaths, groups: group?.mounts ?? [] },
          root: join(home, "root"),
          sharedMemory: join(this.directory, "shm"),
          sys: join(this.directory, "sys"),
          makesCwd,
        },
        enter: enterOptions(this.directory, this.#options.hostNetwork),
        ...(joins === undefined ? {} : { joins }),
        group,
        ...(group === undefined && { processes: this.#options.processes }),
      },
    );
    this.#running.add(handle);
    void handle.exited.then(async () => {
      this.#running.delete(handle);
      await this.#clear(home);
    });
    return handle;
  }

  /** The view of processes to share. A container that only plays its user cannot enter one of the others' root. */
  #joins(spec: ContainerSpec): number | "node" | undefined {
    const joins = spec.joins ?? this.#options.joins;
    if (typeof joins !== "number" || !playsAnotherUser(this.#options.ids, spec.user)) return joins;
    this.#options.log?.(
      `container ${spec.id} sees only its own processes: with one user id, only containers of root share them`,
    );
    return undefined;
  }

  /** By the pod's address when something listens there, else by its own loopback. */
  async connect(port: number): Promise<DuplexPipe> {
    try {
      return await connectTo(this.address, port);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED" || this.#options.hostNetwork) throw error;
      return await connectInside(this.#options.tools.nsenter, join(this.directory, "net"), port);
    }
  }

  /** Once at a time for each container. */
  #clear(home: string): Promise<void> {
    const clearing = this.#clearing.get(home) ?? unmountRoot(home).finally(() => this.#clearing.delete(home));
    this.#clearing.set(home, clearing);
    return clearing;
  }

  async limit(limits: PodLimits): Promise<void> {
    await this.#options.group?.limit(limits);
  }

  remove(): Promise<void> {
    this.#removed ??= this.#remove();
    return this.#removed;
  }

  async #remove(): Promise<void> {
    await Promise.allSettled(this.#starting);
    const running = [...this.#running];
    for (const container of running) container.signal("SIGKILL");
    await Promise.all(running.map((container) => container.exited));
    try {
      for (const { id } of running) void this.#clear(join(this.directory, "containers", id));
      await Promise.all(this.#clearing.values());
      await this.#options.holder?.end();
      await this.#options.group?.remove();
    } finally {
      // Whatever else stays behind, the pod's address is another's from now on: its cable must go.
      await removePodNamespace(this.#options.tools, this.directory, this.#options.link);
    }
  }

  /** A writable layer over the image; the image itself is never changed. */
  async #mountRoot(spec: ContainerSpec, home: string): Promise<void> {
    if (!existsSync(spec.rootfs)) {
      throw new NodeError("ContainerCannotRun", `the image's root file system ${spec.rootfs} is gone`);
    }
    for (const name of ["upper", "work", "root"]) await mkdir(join(home, name), { recursive: true });
    await refuseLinks(spec.rootfs);
    // Short paths: bubblewrap reads the table of mounts many times, with those of all containers in it.
    const options = `lowerdir=${escapeOverlay(spec.rootfs)},upperdir=upper,workdir=work,userxattr`;
    const layer = `mount -t overlay overlay -o ${quote(options)} root`;
    // Old kernels, and file systems that are layered themselves, have no layer for us: a copy is slow but true.
    const copy = `cp -a --reflink=auto ${quote(`${spec.rootfs}/.`)} root`;
    await runScript([`cd ${quote(home)}`, `${layer} || ${copy}`], {
      code: "ContainerCannotRun",
      doing: `make the root of container ${spec.id}`,
    });
  }
}

/** While a sandbox is set up, paths mean other places than in the finished one: a link could lead to either. */
async function refuseLinks(rootfs: string): Promise<void> {
  for (const name of ["proc", "sys", "dev"]) {
    const found = await lstat(join(rootfs, name)).catch(() => undefined);
    if (found === undefined || found.isDirectory()) continue;
    throw new NodeError("ContainerCannotRun", `/${name} of the image is not a directory`);
  }
}

/** A dead container's layer goes at once: nothing can read it any more. */
async function unmountRoot(home: string): Promise<void> {
  if (!existsSync(home)) return;
  await runScript(removalOf(home), { code: "SandboxFailed", doing: "remove a container's root" });
}
