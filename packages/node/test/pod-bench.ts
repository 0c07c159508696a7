/** A kubelet's surroundings for tests: an API in memory, containers that do as they are told, virtual time. */
import { createHook } from "node:async_hooks";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { ReflectEvent } from "@keelson/client";
import type { JsonObject, Stored } from "@keelson/core";
import type { ConfigMap, Container, PodSpec } from "@keelson/core/kinds";
import { ImageError, type ResolvedImage } from "@keelson/images";
import { emptyConfig } from "@keelson/images/internal";
import { SeededRandom, VirtualClock } from "@keelson/testing/clock";
import type { IssuedToken, NodeApi, StoredPod } from "../src/api/api.ts";
import { RangePool } from "../src/kubelet/address-pool.ts";
import { PodWorker } from "../src/kubelet/pod-worker.ts";
import { ReferenceCache } from "../src/kubelet/references.ts";
import type { KubeletServices } from "../src/kubelet/services.ts";
import { StatusWriter } from "../src/kubelet/status-writer.ts";
import type {
  ContainerExit,
  ContainerHandle,
  ContainerRuntime,
  ContainerSpec,
  PodSandbox,
} from "../src/runtime/container-runtime.ts";

/** File operations under way, by asynchronous id. */
const fileOperations = new Set<number>();
createHook({
  init: (id, type) => void (/^(FSREQ|FILEHANDLECLOSEREQ)/.test(type) && fileOperations.add(id)),
  after: (id) => void fileOperations.delete(id),
  destroy: (id) => void fileOperations.delete(id),
}).enable();

/** A container that runs until the test ends it. */
export class FakeContainer implements ContainerHandle {
  readonly id: string;
  readonly pid = 1;
  readonly stdin = undefined;
  readonly spec: ContainerSpec;
  readonly signals: string[] = [];
  readonly exited: Promise<ContainerExit>;
  /** What `exec` ends with; a probe succeeds with 0. */
  execCode = 0;
  /** Ends on SIGTERM, as a good server does. */
  polite = true;
  #resolve: (exit: ContainerExit) => void;

  constructor(spec: ContainerSpec) {
    const { promise, resolve } = Promise.withResolvers<ContainerExit>();
    this.id = spec.id;
    this.spec = spec;
    this.exited = promise;
    this.#resolve = resolve;
  }

  end(code: number): void {
    this.#resolve({ code, oomKilled: false });
  }

  signal(signal: NodeJS.Signals): void {
    this.signals.push(signal);
    if (signal === "SIGKILL") this.end(137);
    else if (this.polite) this.end(0);
  }

  freeze = () => Promise.resolve();
  limit = () => Promise.resolve();
  resize = () => Promise.resolve();
  usage = () => Promise.resolve({ memoryBytes: 0, cpuNanoseconds: 0 });

  exec() {
    const done = () => new PassThrough().end();
    return Promise.resolve({
      stdin: undefined,
      stdout: done(),
      stderr: done(),
      exited: Promise.resolve(this.execCode),
      resize: () => Promise.resolve(),
      kill: () => undefined,
    });
  }
}

/** Everything one pod's worker touches. Dispose it to remove its files. */
export class PodBench implements Disposable {
  readonly home = mkdtempSync(join(tmpdir(), "pod-"));
  readonly clock = new VirtualClock({
    // Files are really written: time is frozen until they are.
    busy: () => fileOperations.size > 0,
  });
  readonly containers: FakeContainer[] = [];
  readonly events: string[] = [];
  readonly deleted: string[] = [];
  readonly statuses: NonNullable<StoredPod["status"]>[] = [];
  readonly configMaps = new Map<string, Stored<ConfigMap>>();
  /** Set to refuse images. */
  imageError: string | undefined;
  /** Answers requests for tokens. Default: refuses them. */
  issueToken: (seconds: number) => Promise<IssuedToken> = () => Promise.reject(new Error("not expected"));
  /** Sandboxes that exist, and what a new one waits for. */
  sandboxes = 0;
  sandboxGate: Promise<void> = Promise.resolve();
  /** Called for each sandbox before a container is in it. */
  filterTraffic: () => Promise<void> = () => Promise.resolve();
  /** What writing a status waits for. */
  statusGate: Promise<void> = Promise.resolve();
  /** Called for each container as it starts. */
  onStart: (container: FakeContainer) => void = () => undefined;
  pod: StoredPod;
  worker: PodWorker;
  #services: KubeletServices;

  constructor(spec: Omit<PodSpec, "containers"> & { containers: Container[] }) {
    const root = join(this.home, "image");
    mkdirSync(join(root, "bin"), { recursive: true });
    writeFileSync(join(root, "bin/app"), "");
    chmodSync(join(root, "bin/app"), 0o755);
    this.pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        ...{ name: "web", namespace: "default", uid: "u1", resourceVersion: "1", generation: 1 },
        creationTimestamp: "2026-01-01T00:00:00Z",
      },
      spec: { restartPolicy: "Always", terminationGracePeriodSeconds: 30, ...spec },
    };
    this.#services = this.#makeServices(root);
    this.worker = this.#makeWorker();
  }

  get status(): NonNullable<StoredPod["status"]> {
    return this.pod.status ?? {};
  }

  /** The newest container of that name. */
  container(name: string): FakeContainer {
    const found = this.containers.findLast(({ id }) => id.startsWith(`${name}-`));
    if (found === undefined) throw new Error(`${name} has not started`);
    return found;
  }

  starts(name: string): number {
    return this.containers.filter(({ id }) => id.startsWith(`${name}-`)).length;
  }

  condition(type: string): string | undefined {
    return this.status.conditions?.find((condition) => condition.type === type)?.status;
  }

  state(name: string) {
    return [...(this.status.initContainerStatuses ?? []), ...(this.status.containerStatuses ?? [])].find(
      (status) => status.name === name,
    );
  }

  async begin(): Promise<void> {
    this.worker.wake();
    await this.clock.settle();
  }

  /** As the API server marks a deletion. */
  async markDeleted(graceSeconds: number): Promise<void> {
    const { metadata } = this.pod;
    this.pod = {
      ...this.pod,
      metadata: {
        ...metadata,
        deletionTimestamp: "2026-01-01T00:01:00Z",
        deletionGracePeriodSeconds: graceSeconds,
      },
    };
    this.worker.update(this.pod);
    await this.clock.settle();
  }

  /** The node loses power and comes back. */
  async powerCycle(): Promise<void> {
    await this.worker.powerOff(0);
    await this.clock.settle();
    this.worker = this.#makeWorker();
    await this.begin();
  }

  [Symbol.dispose](): void {
    rmSync(this.home, { recursive: true, force: true });
  }

  #makeWorker(): PodWorker {
    const writer = new StatusWriter(this.#services);
    return new PodWorker(this.#services, writer, this.pod);
  }

  #makeServices(root: string): KubeletServices {
    const api = this.#makeApi();
    const image: ResolvedImage = {
      ...{ reference: "app:1", id: "sha256:1", repoDigest: "app@sha256:1", names: ["app:1"] },
      ...{ rootfs: root, origin: "store", sizeBytes: 1 },
      config: { ...emptyConfig, cmd: ["/bin/app"] },
    };
    const find = () => Promise.resolve(this.imageError === undefined ? image : undefined);
    const pull = () => Promise.reject(new ImageError("ImageNotFound", this.imageError ?? ""));
    return {
      api,
      clock: this.clock,
      random: new SeededRandom(1),
      runtime: this.#makeRuntime(),
      ids: "all",
      images: { find, pull },
      addresses: new RangePool("10.244.0.0/24"),
      references: new ReferenceCache(api, () => {
        void this.worker.refreshVolumes();
        this.worker.retry();
      }),
      recorder: {
        event: (_, type, reason, message) => void this.events.push(`${type} ${reason}: ${message}`),
      },
      node: {
        name: "n1",
        hostAddress: "10.244.0.1",
        allocatable: { cpu: "2", memory: "1Gi" },
        dns: { address: "10.96.0.10", domain: "cluster.local" },
      },
      serviceEnvironment: () => ({}),
      dataDirectory: join(this.home, "data"),
      podPidsLimit: 100,
      filterTraffic: () => this.filterTraffic(),
      seccompDirectory: join(this.home, "seccomp"),
      admission: { allowedUnsafeSysctls: [] },
      log: (message) => void this.events.push(`log ${message}`),
    };
  }

  #makeRuntime(): ContainerRuntime {
    return {
      kind: "sandbox",
      memory: join(this.home, "memory"),
      lacks: [],
      createPodSandbox: async ({ id, address }) => {
        await this.sandboxGate;
        this.sandboxes++;
        const directory = join(this.home, "sandboxes", id);
        mkdirSync(directory, { recursive: true });
        const own: FakeContainer[] = [];
        const sandbox: PodSandbox = {
          ...{ id, address, directory },
          startContainer: (spec) => {
            const container = new FakeContainer(spec);
            own.push(container);
            this.containers.push(container);
            this.onStart(container);
            return Promise.resolve(container);
          },
          limit: () => Promise.resolve(),
          connect: () => Promise.reject(new Error("not here")),
          remove: async () => {
            this.sandboxes--;
            for (const container of own) container.end(137);
          },
        };
        return sandbox;
      },
    };
  }

  #makeApi(): NodeApi {
    const unused = () => Promise.reject(new Error("not expected"));
    return {
      followConfigMap: (_: string, name: string) => followOne(() => this.configMaps.get(name), this.clock),
      patchPodStatus: async (_: StoredPod, patch: JsonObject) => {
        await this.statusGate;
        const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== null));
        const kept = Object.fromEntries(
          Object.entries(this.pod.status ?? {}).filter(([key]) => patch[key] !== null),
        );
        this.pod = { ...this.pod, status: structuredClone({ ...kept, ...given }) } as StoredPod;
        this.statuses.push(structuredClone(this.pod.status ?? {}));
        return this.pod;
      },
      deletePod: (pod: StoredPod) => {
        this.deleted.push(pod.metadata.uid);
        return Promise.resolve();
      },
      createToken: ({ expirationSeconds }: { expirationSeconds: number }) =>
        this.issueToken(expirationSeconds),
      claim: unused,
      volume: unused,
    } as unknown as NodeApi;
  }
}

/** Shows an object now and again every second of virtual time. */
async function* followOne<T>(get: () => T | undefined, clock: VirtualClock): AsyncGenerator<ReflectEvent<T>> {
  yield { type: "restart", reason: "start" };
  let seen = get();
  if (seen !== undefined) yield { type: "item", object: seen };
  yield { type: "synced", resourceVersion: "1" };
  for (;;) {
    await new Promise<void>((resolve) => clock.timer(1000, resolve));
    const now = get();
    if (now !== undefined && now !== seen) yield { type: "modified", object: now };
    seen = now;
  }
}
