/** The scheduler and the kubelets of a simulation: pods are placed, started, probed, restarted and ended. */
import type { EventType } from "@keelson/apiserver";
import { Pod } from "@keelson/core/kinds";
import { environmentOf, filesOf, MissingFile } from "./files.ts";
import { type Later, type SimulationHost, timeOf, unlessGone } from "./host.ts";
import type { SimulatedNode, SimulatedNodes } from "./nodes.ts";
import { type ContainerRun, type PodRun, phaseOf, podRun, statusOf, summaryOf } from "./pod-run.ts";
import type { Application, ContainerStart, PodObject, SimulatedProcess } from "./process.ts";
import type { SimulatedVolumes } from "./volumes.ts";

/** From a pod to its node. */
const placeMs = 50;
/** From a node to the first container. */
const startMs = 450;
const stopMs = 300;
/** Between a change and the probe that notices it. */
const probeMs = 500;
/** A process that does not answer its liveness probe is ended after this long. */
const livenessMs = 10_000;
/** A changed Secret or ConfigMap takes this long to reach pods that run. */
const filesMs = 90_000;
/** Restarts: the first at once, then 10 s, doubling up to 5 minutes; ten good minutes and it starts over. */
const firstBackoffMs = 10_000;
const longestBackoffMs = 300_000;
const forgivenMs = 600_000;
/** A volume is taken from a node that does not speak after this long. */
const detachMs = 360_000;

export interface KubeletParts {
  readonly host: SimulationHost;
  readonly later: Later;
  readonly nodes: SimulatedNodes;
  readonly volumes: SimulatedVolumes;
}

/** What a kubelet remembers beyond what the API server has. */
export interface KubeletState {
  readonly addresses: number;
  readonly runs: readonly SavedRun[];
}

interface SavedRun {
  readonly uid: string;
  readonly address: string;
  readonly started: boolean;
  readonly init: readonly Omit<ContainerRun, "process" | "spec">[];
  readonly containers: readonly (Omit<ContainerRun, "process" | "spec"> & { readonly running: boolean })[];
  readonly files: readonly (readonly [string, Readonly<Record<string, string>>])[];
}

/** Runs simulated applications in the pods of one node. */
export class SimulatedKubelet {
  readonly #parts: KubeletParts;
  readonly #runs = new Map<string, PodRun>();
  readonly #application: Application;
  /** Images that no registry has. */
  readonly missingImages = new Set<string>();
  /** Told of every pod that is asked to end, while it still runs. */
  onEnding: (pod: PodObject) => void = () => {};
  #addresses = 0;

  constructor(parts: KubeletParts, application: Application) {
    this.#parts = parts;
    this.#application = application;
    const { nodes, volumes } = parts;
    nodes.onPower = (node) => this.#onPower(node);
    nodes.onSpeech = (node) => this.#onSpeech(node);
    nodes.onUnknown = (node) => void this.#markUnready(node);
    nodes.onEviction = (node) => void this.#evict(node);
    nodes.onRoom = () => this.#placeWaiting();
    volumes.onBound = () => this.#placeWaiting();
    volumes.isUsed = (namespace, name) =>
      [...this.#runs.values()].some(
        // A pod that waits for a node holds nothing, as in Kubernetes.
        (run) => !run.orphan && run.node !== undefined && usesClaim(run.pod, namespace, name),
      );
  }

  start(): () => void {
    const { stored } = this.#parts.host;
    for (const pod of stored.list("pods")) this.#changed("ADDED", pod as unknown as PodObject);
    const stops = [
      stored.subscribe("pods", ({ type, object }) => this.#changed(type, object as unknown as PodObject)),
      stored.subscribe("secrets", ({ object }) => this.#filesChanged(object.metadata.name)),
      stored.subscribe("configmaps", ({ object }) => this.#filesChanged(object.metadata.name)),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  // -------------------------------------------------------------------------------------- looking

  /** Processes by the name of their pod, in this namespace when given. */
  process(name: string, namespace?: string): SimulatedProcess | undefined {
    return this.run(name, namespace)?.containers[0]?.process;
  }

  run(name: string, namespace?: string): PodRun | undefined {
    for (const run of this.#runs.values()) {
      const { metadata } = run.pod;
      if (!run.orphan && metadata.name === name && (namespace ?? metadata.namespace) === metadata.namespace)
        return run;
    }
    return undefined;
  }

  get runs(): Iterable<PodRun> {
    return this.#runs.values();
  }

  /** The process dies as if killed; its container is started again. */
  crash(name: string): void {
    const run = this.run(name);
    for (const container of run?.containers ?? []) container.process?.kill();
    if (run) this.#look(run);
  }

  /** The kubelet of a node has started again: it knows of no back-off, and has not probed anything yet. */
  forget(node: string): void {
    for (const run of this.#runs.values()) {
      if (run.node !== node) continue;
      for (const container of [...run.init, ...run.containers]) {
        container.failures = 0;
        container.hungSinceMs = undefined;
        container.ready = false;
      }
    }
  }

  /** The kubelet ends the pod for good, as when its node runs out of memory. */
  async evict(name: string): Promise<void> {
    const run = this.run(name);
    if (!run) return;
    run.evicted = true;
    for (const container of run.containers) {
      container.process?.kill();
      container.process = undefined;
      container.ready = false;
    }
    await this.#report(run);
  }

  // -------------------------------------------------------------------------------------- keeping

  save(): KubeletState {
    return {
      addresses: this.#addresses,
      runs: [...this.#runs.values()].map(({ uid, address, started, init, containers, files }) => ({
        uid,
        address,
        started,
        init: init.map(({ process: _, spec: __, ...rest }) => rest),
        containers: containers.map(({ process, spec: _, ...rest }) => ({
          ...rest,
          running: process !== undefined,
        })),
        files: [...files],
      })),
    };
  }

  /** Goes on where another stopped; call it before `start`. */
  resume(state: KubeletState): void {
    this.#addresses = state.addresses;
    const { stored } = this.#parts.host;
    const pods = new Map(stored.list("pods").map((pod) => [pod.metadata.uid, pod as unknown as PodObject]));
    for (const saved of state.runs) {
      const pod = pods.get(saved.uid);
      if (!pod) continue;
      const run = podRun(pod, saved.address);
      run.started = saved.started;
      for (const [volume, files] of saved.files) run.files.set(volume, files);
      run.init.forEach((container, i) => void Object.assign(container, saved.init[i]));
      run.containers.forEach((container, i) => {
        const { running, ...rest } = saved.containers[i] as SavedRun["containers"][number];
        Object.assign(container, rest);
        if (running) container.process = this.#application.resume?.(saved.uid, this.#startOf(run, container));
      });
      run.reported = summaryOf(run);
      this.#runs.set(run.uid, run);
    }
  }

  // -------------------------------------------------------------------------------------- pods

  #changed(type: EventType, pod: PodObject): void {
    const { uid } = pod.metadata;
    let run = this.#runs.get(uid);
    if (type === "DELETED") {
      if (run) this.#gone(run);
      return;
    }
    if (!run) {
      run = podRun(pod, `10.0.${Math.floor(++this.#addresses / 250)}.${1 + (this.#addresses % 250)}`);
      this.#runs.set(uid, run);
      if (run.node === undefined) this.#placeLater(run);
      else this.#beginLater(run);
    }
    run.pod = pod;
    if (pod.metadata.deletionTimestamp !== undefined && !run.ending) {
      run.ending = true;
      this.onEnding(pod);
      this.#endLater(run);
    }
  }

  #gone(run: PodRun): void {
    const node = this.#nodeOf(run);
    if (node?.powered && !node.speaking && run.started) {
      // Nobody has told the node: what runs there runs on.
      run.orphan = true;
    } else this.#clear(run);
    this.#parts.later.after(0, () => {
      this.#parts.volumes.released();
      this.#placeWaiting();
    });
  }

  #clear(run: PodRun): void {
    for (const container of [...run.init, ...run.containers]) container.process?.kill();
    this.#runs.delete(run.uid);
  }

  #nodeOf(run: PodRun): SimulatedNode | undefined {
    return run.node === undefined ? undefined : this.#parts.nodes.all.get(run.node);
  }

  #endLater(run: PodRun): void {
    this.#parts.later.after(stopMs, async () => {
      const node = this.#nodeOf(run);
      if (!this.#runs.has(run.uid) || run.orphan) return;
      if (node && !(node.powered && node.speaking)) return;
      for (const container of run.containers) container.process?.stop();
      await this.#endWhenStopped(run, this.#parts.host.clock.monotonic() + graceMsOf(run.pod));
    });
  }

  /** A process may take the pod's grace period to end. */
  async #endWhenStopped(run: PodRun, untilMs: number): Promise<void> {
    const { host, later } = this.#parts;
    const node = this.#nodeOf(run);
    if (!this.#runs.has(run.uid) || run.orphan || (node && !(node.powered && node.speaking))) return;
    const stopping = run.containers.some(({ process }) => process && process.ended === undefined);
    if (stopping && host.clock.monotonic() < untilMs) {
      later.after(probeMs, async () => await this.#endWhenStopped(run, untilMs));
      return;
    }
    const { namespace = "", name } = run.pod.metadata;
    await unlessGone(
      host.client.kind(Pod).delete({ namespace, name }, { uid: run.uid, gracePeriodSeconds: 0 }),
    );
  }

  // -------------------------------------------------------------------------------------- scheduling

  #placeWaiting(): void {
    for (const run of this.#runs.values()) if (run.node === undefined && !run.ending) this.#placeLater(run);
  }

  #placeLater(run: PodRun): void {
    this.#parts.later.after(placeMs, async () => {
      if (!this.#runs.has(run.uid) || run.node !== undefined || run.ending) return;
      const choice = this.#choose(run);
      if ("why" in choice) {
        if (run.unschedulable === choice.why) return;
        run.unschedulable = choice.why;
        await this.#report(run);
        return;
      }
      run.node = choice.node;
      run.unschedulable = undefined;
      const { namespace = "", name } = run.pod.metadata;
      await unlessGone(
        this.#parts.host.client
          .kind(Pod)
          .subresource("binding")
          .create({ namespace, name }, {
            apiVersion: "v1",
            kind: "Binding",
            metadata: { name, namespace },
            target: { kind: "Node", name: choice.node },
          } as never),
      );
      this.#beginLater(run);
    });
  }

  #choose({ pod }: PodRun): { readonly node: string } | { readonly why: string } {
    const { nodes, volumes } = this.#parts;
    let local: string | undefined;
    for (const { persistentVolumeClaim } of pod.spec?.volumes ?? []) {
      const name = persistentVolumeClaim?.claimName;
      if (name === undefined) continue;
      const claim = volumes.claim(pod.metadata.namespace ?? "", name);
      if (!claim) return { why: `persistentvolumeclaim "${name}" not found` };
      if (claim.metadata.deletionTimestamp !== undefined)
        return { why: `persistentvolumeclaim "${name}" is being deleted` };
      if (claim.status?.phase !== "Bound") return { why: "pod has unbound immediate PersistentVolumeClaims" };
      // Here every volume that was made for a node is a local one.
      local ??= claim.metadata.annotations?.["volume.kubernetes.io/selected-node"];
    }
    const wanted = Object.entries(pod.spec?.nodeSelector ?? {});
    const able = [...nodes.all.values()].filter(
      (node) =>
        node.speaking &&
        !node.cordoned &&
        (local === undefined || node.name === local) &&
        wanted.every(([label, value]) => node.labels[label] === value),
    );
    const load = new Map(able.map(({ name }) => [name, 0]));
    for (const { node } of this.#runs.values())
      if (node !== undefined && load.has(node)) load.set(node, (load.get(node) ?? 0) + 1);
    const [best] = [...load].sort(([, a], [, b]) => a - b);
    if (best) return { node: best[0] };
    const volume = local === undefined ? "" : ": node(s) didn't match PersistentVolume's node affinity";
    return { why: `0/${nodes.all.size} nodes are available${volume}` };
  }

  // -------------------------------------------------------------------------------------- containers

  #beginLater(run: PodRun): void {
    this.#parts.later.after(startMs, async () => {
      const node = this.#nodeOf(run);
      if (
        !this.#runs.has(run.uid) ||
        run.ending ||
        run.evicted ||
        run.started ||
        !(node?.powered && node.speaking)
      )
        return;
      const holder = this.#holderOf(run);
      if (holder) {
        // Two nodes never have one volume at once.
        if (holder.orphan) this.#parts.later.after(detachMs, () => this.#detach(holder));
        this.#parts.later.after(5_000, () => this.#beginLater(run));
        return;
      }
      for (const { persistentVolumeClaim } of run.pod.spec?.volumes ?? [])
        if (persistentVolumeClaim)
          await this.#parts.volumes.mounted(
            run.pod.metadata.namespace ?? "",
            persistentVolumeClaim.claimName,
          );
      run.started = true;
      this.#startNext(run);
      await this.#report(run);
    });
  }

  /** A run on another node that still has one of this pod's volumes. A pod that has ended has none mounted. */
  #holderOf(run: PodRun): PodRun | undefined {
    const { namespace = "" } = run.pod.metadata;
    const claims = (run.pod.spec?.volumes ?? [])
      .flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [])
      .filter((name) => !this.#parts.volumes.isShared(namespace, name));
    return [...this.#runs.values()].find(
      (other) =>
        other !== run &&
        other.started &&
        other.node !== run.node &&
        !["Succeeded", "Failed"].includes(phaseOf(other)) &&
        claims.some((claim) => usesClaim(other.pod, namespace, claim)),
    );
  }

  #detach(run: PodRun): void {
    if (this.#runs.has(run.uid) && run.orphan) this.#clear(run);
  }

  /** The next init container, or all others when there is none left. */
  #startNext(run: PodRun): void {
    const init = run.init.find(({ done }) => !done);
    for (const container of init ? [init] : run.containers)
      if (!container.process && !container.done) this.#startContainer(run, container);
  }

  #startContainer(run: PodRun, container: ContainerRun): void {
    const { clock } = this.#parts.host;
    const image = container.spec.image ?? "";
    container.waiting = undefined;
    if (this.missingImages.has(image)) {
      container.waiting = { reason: "ImagePullBackOff", message: `Back-off pulling image "${image}"` };
      this.#parts.later.after(firstBackoffMs, () => this.#retry(run, container));
      return;
    }
    let result: ReturnType<Application["start"]>;
    try {
      result = this.#application.start(this.#startOf(run, container));
    } catch (error) {
      if (!(error instanceof MissingFile)) throw error;
      container.waiting = { reason: "CreateContainerConfigError", message: error.message };
      this.#parts.later.after(firstBackoffMs, () => this.#retry(run, container));
      return;
    }
    container.startedMs = clock.monotonic();
    container.hungSinceMs = undefined;
    if ("exitCode" in result) {
      container.end = result;
      this.#ended(run, container);
      return;
    }
    container.process = result;
    this.#lookLater(run);
  }

  #startOf(run: PodRun, container: ContainerRun): ContainerStart {
    const { volumes, host } = this.#parts;
    const { namespace = "" } = run.pod.metadata;
    return {
      pod: run.pod,
      container: container.spec,
      address: run.address,
      node: run.node ?? "",
      environment: environmentOf(run.pod, container.spec, host.stored),
      volume: (name) => {
        const claim = run.pod.spec?.volumes?.find((each) => each.name === name)?.persistentVolumeClaim;
        return claim && volumes.of(namespace, claim.claimName);
      },
      files: (volume) => {
        const known = run.files.get(volume) ?? filesOf(run.pod, volume, host.stored);
        run.files.set(volume, known);
        return known;
      },
      changed: () => this.#lookLater(run),
    };
  }

  #retry(run: PodRun, container: ContainerRun): void {
    const node = this.#nodeOf(run);
    if (!this.#runs.has(run.uid) || run.ending || run.evicted || container.process || container.done) return;
    if (!(node?.powered && node.speaking)) return;
    this.#startContainer(run, container);
    void this.#report(run);
  }

  /** It has ended: for good where its pod says so, otherwise it comes back after a while. */
  #ended(run: PodRun, container: ContainerRun): void {
    const { clock } = this.#parts.host;
    container.process = undefined;
    container.ready = false;
    const policy = run.pod.spec?.restartPolicy ?? "Always";
    const well = container.end?.exitCode === 0;
    const isInit = run.init.includes(container);
    if (well && (isInit || policy !== "Always")) {
      container.done = true;
      if (isInit) this.#startNext(run);
      return;
    }
    if (policy === "Never") return;
    if (clock.monotonic() - container.startedMs >= forgivenMs) container.failures = 0;
    const pauseMs =
      container.failures === 0
        ? 0
        : Math.min(longestBackoffMs, firstBackoffMs * 2 ** (container.failures - 1));
    container.failures++;
    if (pauseMs > 0)
      container.waiting = { reason: "CrashLoopBackOff", message: `back-off ${pauseMs / 1_000}s` };
    this.#parts.later.after(Math.max(pauseMs, 100), () => {
      if (!container.process && !container.done) container.restarts++;
      this.#retry(run, container);
    });
  }

  // -------------------------------------------------------------------------------------- probes

  readonly #looking = new Set<PodRun>();

  #lookLater(run: PodRun): void {
    if (this.#looking.has(run)) return;
    this.#looking.add(run);
    this.#parts.later.after(probeMs, () => {
      this.#looking.delete(run);
      this.#look(run);
    });
  }

  #look(run: PodRun): void {
    const node = this.#nodeOf(run);
    if (!this.#runs.has(run.uid) || run.orphan || !(node?.powered && node.speaking)) return;
    for (const container of [...run.init, ...run.containers]) this.#probe(run, container);
    void this.#report(run);
  }

  #probe(run: PodRun, container: ContainerRun): void {
    const { process } = container;
    if (!process) return;
    const { clock } = this.#parts.host;
    if (process.live === false && process.ended === undefined) {
      container.hungSinceMs ??= clock.monotonic();
      if (clock.monotonic() - container.hungSinceMs >= livenessMs) process.kill();
      else this.#parts.later.after(livenessMs, () => this.#look(run));
    } else container.hungSinceMs = undefined;
    if (process.ended !== undefined) {
      container.end = process.ended;
      this.#ended(run, container);
    } else container.ready = process.ready;
  }

  // -------------------------------------------------------------------------------------- nodes

  #onPower(node: SimulatedNode): void {
    for (const run of this.#runs.values()) {
      if (run.node !== node.name) continue;
      for (const container of [...run.init, ...run.containers]) {
        if (!node.powered) {
          if (!container.process) continue;
          container.process.kill();
          container.end = { exitCode: 255, message: "" };
          container.process = undefined;
        }
        container.ready = false;
      }
    }
  }

  #onSpeech(node: SimulatedNode): void {
    for (const run of [...this.#runs.values()]) {
      if (run.node !== node.name) continue;
      if (run.orphan) this.#clear(run);
      else if (run.ending) this.#endLater(run);
      else if (!run.started) this.#beginLater(run);
      else {
        for (const container of run.containers) {
          if (container.process || container.done) continue;
          container.restarts++;
          this.#startContainer(run, container);
        }
        this.#lookLater(run);
        run.reported = "";
        void this.#report(run);
      }
    }
    this.#parts.later.after(0, () => {
      this.#parts.volumes.released();
      this.#placeWaiting();
    });
  }

  /** The control plane marks the pods of a silent node, and asks them to end. */
  async #evict(node: SimulatedNode): Promise<void> {
    for (const run of [...this.#runs.values()]) {
      if (run.node !== node.name || run.orphan || run.ending) continue;
      const { namespace = "", name } = run.pod.metadata;
      await unlessGone(this.#parts.host.client.kind(Pod).delete({ namespace, name }, { uid: run.uid }));
    }
  }

  /** What the control plane says of pods whose node has gone silent. */
  async #markUnready(node: SimulatedNode): Promise<void> {
    for (const run of [...this.#runs.values()]) {
      if (run.node !== node.name || run.orphan || !run.started) continue;
      const { namespace = "", name } = run.pod.metadata;
      const at = timeOf(this.#parts.host);
      const conditions = (run.pod.status?.conditions ?? []).map((each) =>
        each.type === "Ready" && each.status === "True"
          ? { ...each, status: "False", reason: "NodeNotReady", lastTransitionTime: at }
          : each,
      );
      await this.#patch(namespace, name, run.uid, { conditions });
    }
  }

  // -------------------------------------------------------------------------------------- files

  #filesChanged(name: string): void {
    const users = [...this.#runs.values()].filter(({ pod }) =>
      pod.spec?.volumes?.some(
        ({ secret, configMap }) => secret?.secretName === name || configMap?.name === name,
      ),
    );
    if (users.length === 0) return;
    this.#parts.later.after(filesMs, () => {
      for (const run of users) {
        if (!this.#runs.has(run.uid)) continue;
        for (const volume of [...run.files.keys()]) {
          run.files.set(volume, this.#refreshed(run, volume));
        }
        this.#lookLater(run);
      }
    });
  }

  /** What was deleted stays in the pods that have mounted it. */
  #refreshed(run: PodRun, volume: string): Readonly<Record<string, string>> {
    try {
      return filesOf(run.pod, volume, this.#parts.host.stored);
    } catch (error) {
      if (error instanceof MissingFile) return run.files.get(volume) ?? {};
      throw error;
    }
  }

  // -------------------------------------------------------------------------------------- status

  async #report(run: PodRun): Promise<void> {
    const node = this.#nodeOf(run);
    if (!this.#runs.has(run.uid) || run.orphan || (node && !node.speaking)) return;
    const summary = summaryOf(run);
    if (summary === run.reported) return;
    run.reported = summary;
    const { namespace = "", name } = run.pod.metadata;
    await this.#patch(namespace, name, run.uid, statusOf(run, timeOf(this.#parts.host)));
  }

  async #patch(namespace: string, name: string, uid: string, status: object): Promise<void> {
    await unlessGone(
      this.#parts.host.client
        .kind(Pod)
        .subresource("status")
        .patch({ namespace, name }, { type: "merge", body: { metadata: { uid }, status } as never }),
    );
  }
}

function usesClaim(pod: PodObject, namespace: string, claim: string): boolean {
  return (
    pod.metadata.namespace === namespace &&
    (pod.spec?.volumes?.some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === claim) ??
      false)
  );
}

function graceMsOf({ metadata, spec }: PodObject): number {
  return 1_000 * (metadata.deletionGracePeriodSeconds ?? spec?.terminationGracePeriodSeconds ?? 30);
}
