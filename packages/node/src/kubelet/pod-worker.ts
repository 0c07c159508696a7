/**
 * One pod from its arrival to its end.
 *
 * States: `living` (containers are started and restarted) → `stopping` (deleted, over, or past its deadline:
 * containers are being stopped) → `stopped` (no process is left; the object may still exist) → `forgotten`.
 */
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type Cancel, parseTime } from "@keelson/core";
import type { PodSpec } from "@keelson/core/kinds";
import type { ResolvedImage } from "@keelson/images";
import type { StoredPod } from "../api/api.ts";
import { NodeError } from "../errors.ts";
import type { PodLimits, PodSandbox } from "../runtime/container-runtime.ts";
import { removeUnmounted, unmountBelow } from "../runtime/mounts.ts";
import { PodVolumes } from "../volumes/pod-volumes.ts";
import type { ContainerRecord } from "./container-record.ts";
import { logDirectory, logPath } from "./container-starter.ts";
import { Deadline } from "./deadline.ts";
import type { LogSource } from "./log-reader.ts";
import { nextActions } from "./next-actions.ts";
import type { Rejection } from "./pod-admission.ts";
import { PodContainers, type RunningContainer } from "./pod-containers.ts";
import { hostsFile, podHostname, resolvFile } from "./pod-files.ts";
import { podLimits } from "./pod-limits.ts";
import { makePodStatus } from "./pod-status.ts";
import { asksForOthers, type PendingResize, resizeMessage, withResourcesOf } from "./resize.ts";
import { downwardContext, type KubeletServices } from "./services.ts";
import type { StatusWriter } from "./status-writer.ts";
import { sysctlPath } from "./sysctls.ts";

const sandboxRetryMs = 10_000;
const mountRetryMs = 2_000;
const refreshMs = 60_000;

export type WorkerState = "living" | "stopping" | "stopped" | "forgotten";

/** What a pod needs to know of the node's other pods, and they of it. */
export interface Neighbours {
  /** Its sandbox came or went, or it gave back resources. */
  onChange(): void;
  /** What keeps the node from granting these resources to the pod; undefined when nothing does. */
  shortageOf(spec: PodSpec): string | undefined;
}

const alone: Neighbours = { onChange: () => undefined, shortageOf: () => undefined };

export class PodWorker {
  readonly containers: PodContainers;
  readonly #services: KubeletServices;
  readonly #writer: StatusWriter;
  readonly #neighbours: Neighbours;
  readonly #volumes: PodVolumes;
  readonly #directory: string;
  readonly #timers = new Map<string, Cancel>();
  readonly #startedAt: number;
  #pod: StoredPod;
  /** A sandbox that is being made, or unmade because the pod has ended meanwhile. */
  #making: Promise<void> | undefined;
  /** Whether volumes hold what could only be known once there was a sandbox. */
  #isRefreshed = false;
  /** The end of a pod that has stopped, as far as the API is concerned. */
  #concluding: Promise<void> | undefined;
  /** The object does not exist any more: nobody would read its status. */
  #isGone = false;
  /** The last change of limits. */
  #limiting: Promise<unknown> = Promise.resolve();
  /** As the pod's, but with the resources that the node has granted. */
  #granted: PodSpec;
  #resize: PendingResize | undefined;
  #state: WorkerState = "living";
  #sandbox: PodSandbox | undefined;
  #sandboxes = 0;
  #address: string | undefined;
  #verdict: { reason: string; message: string } | undefined;
  #deadline: Deadline | undefined;
  #stopping: Promise<void> | undefined;
  #syncing: Promise<void> | undefined;
  #again = false;
  #restored = false;

  constructor(
    services: KubeletServices,
    writer: StatusWriter,
    pod: StoredPod,
    neighbours: Neighbours = alone,
  ) {
    this.#services = services;
    this.#writer = writer;
    this.#pod = pod;
    this.#granted = pod.spec;
    this.#neighbours = neighbours;
    this.#directory = join(services.dataDirectory, "pods", pod.metadata.uid);
    this.#startedAt = services.clock.now();
    this.#volumes = new PodVolumes({
      api: services.api,
      clock: services.clock,
      references: services.references.for(pod.metadata.uid),
      directory: this.#directory,
      memory: join(services.runtime.memory, "pods", pod.metadata.uid),
      ids: services.ids,
      canMount: services.runtime.kind === "sandbox",
      downward: (current) => downwardContext(services, current, this.#address ?? ""),
      imageRoot: async (image) => (await imageOf(services, image)).rootfs,
    });
    this.containers = new PodContainers({
      services,
      volumes: this.#volumes,
      directory: this.#directory,
      pod: () => this.#pod,
      address: () => this.#address ?? "",
      isLiving: () => this.#state === "living",
      wake: () => this.wake(),
      event: (...event) => this.#event(...event),
      after: (...timer) => this.#after(...timer),
      isDue: (key) => this.#timers.has(key),
    });
    if (pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed") this.#state = "stopped";
  }

  get pod(): StoredPod {
    return this.#pod;
  }

  /** The specification with the resources that the pod has, which may be others than it asks for. */
  get granted(): PodSpec {
    return this.#granted;
  }

  get state(): WorkerState {
    return this.#state;
  }

  get address(): string | undefined {
    return this.#address;
  }

  get sandbox(): PodSandbox | undefined {
    return this.#sandbox;
  }

  running(container: string): RunningContainer | undefined {
    return this.containers.running(container);
  }

  /** Where a volume is on this machine. */
  volumePath(name: string): string | undefined {
    return this.#volumes.path(name);
  }

  /** A newer version of the object. */
  update(pod: StoredPod): void {
    const marks = ({ metadata }: StoredPod) => JSON.stringify([metadata.labels, metadata.annotations]);
    const remarked = marks(this.#pod) !== marks(pod);
    this.#pod = pod;
    this.#grant();
    if (remarked) {
      void this.refreshVolumes();
      this.#neighbours.onChange();
    }
    this.wake();
  }

  /** Resources may have become free that the pod waits for. */
  reconsider(): void {
    if (this.#resize === undefined || this.#state !== "living") return;
    this.#grant();
    if (this.#resize === undefined) this.wake();
  }

  /** Takes the pod's specification over, with its resources if the node has them to give. */
  #grant(): void {
    const { spec, metadata } = this.#pod;
    const lack = asksForOthers(this.#granted, spec) ? this.#neighbours.shortageOf(spec) : undefined;
    const before = this.#resize;
    this.#resize =
      lack === undefined
        ? undefined
        : { reason: "Deferred", message: lack, generation: metadata.generation ?? 0 };
    if (this.#resize && !isDeepStrictEqual(this.#resize, before)) {
      this.#event("Warning", "ResizeDeferred", resizeMessage(spec, this.#resize));
    }
    const limits = this.#limits();
    this.#granted = lack === undefined ? spec : withResourcesOf(this.#granted, spec);
    this.#applyGranted(!isDeepStrictEqual(limits, this.#limits()));
    if (before && lack === undefined) this.#neighbours.onChange();
  }

  /** The pod's own limits are lifted while those of its containers change: the kernel refuses more below than above. */
  #applyGranted(resized: boolean): void {
    const room = resized
      ? this.#limiting.then(() => this.#sandbox?.limit({ processes: this.#services.podPidsLimit }))
      : this.#limiting;
    const updated = this.containers.update({ ...this.#pod, spec: this.#granted }, room);
    this.#limiting = updated
      .then(() => (resized ? this.#sandbox?.limit(this.#limits()) : undefined))
      .catch((error: unknown) => this.#event("Warning", "ResizeError", messageOf(error)));
  }

  #limits(): PodLimits {
    return podLimits(this.#granted, this.#services.podPidsLimit);
  }

  /** The object is gone from the API: stop as politely as it was told, and forget. */
  async remove(): Promise<void> {
    this.#isGone = true;
    this.#writer.forget(this.#pod.metadata.uid);
    await this.#stop();
    await this.#making;
    await this.#syncing;
    this.#forget();
    this.#services.references.release(this.#pod.metadata.uid);
    await this.containers.close();
    await rm(logDirectory(this.#services, this.#pod), { recursive: true, force: true });
    await removeUnmounted(this.#directory);
  }

  /**
   * Ends everything as a shutdown of the machine would: asked to first, when there is time. The records on disk
   * let the next life of the node go on.
   */
  async powerOff(graceMs: number): Promise<void> {
    this.#forget();
    await this.containers.close();
    if (graceMs > 0) await this.containers.ask(graceMs);
    await this.#making;
    await this.#sandbox?.remove();
    // The next life may find the pod deleted, and removes its directory.
    await unmountBelow(this.#directory);
  }

  /** The node does not take the pod: nothing of it is started. */
  async reject({ reason, message }: Rejection): Promise<void> {
    this.#event("Warning", reason, message);
    await this.fail(reason, `Pod was rejected: ${message}`);
  }

  /** Ends the pod for good, whatever its policy. */
  async fail(reason: string, message: string): Promise<void> {
    this.#verdict = { reason, message };
    await this.#stop();
    this.wake();
  }

  /** Looks at the pod again, soon. */
  wake(): void {
    this.#again = true;
    this.#syncing ??= this.#loop();
  }

  /** Something outside changed that a container may have been waiting for. */
  retry(): void {
    for (const record of this.containers.records) record.heldUntil = undefined;
    this.wake();
  }

  async refreshVolumes(): Promise<void> {
    if (this.#state !== "living" || this.#sandbox === undefined) return;
    await this.#volumes.refresh(this.#pod).catch((error: unknown) => {
      this.#event("Warning", "FailedMount", messageOf(error));
    });
  }

  /** The log of the current or the previous attempt: `live` while it grows. */
  logSource(container: string, previous: boolean): LogSource {
    const record = this.containers.record(container);
    const where = `container ${JSON.stringify(container)} in pod ${JSON.stringify(this.#pod.metadata.name)}`;
    if (record === undefined) throw new NodeError("NotFound", `${where} not found`);
    const attempt = record.attempts - (previous ? 2 : 1);
    if (attempt < 0) {
      const reason = record.waiting?.reason ?? "ContainerCreating";
      throw new NodeError(
        "NotFound",
        previous ? `previous terminated ${where} not found` : `${where} is waiting to start: ${reason}`,
      );
    }
    const running = this.containers.running(container);
    const path = logPath(this.#services, this.#pod, container, attempt);
    return { path, ...(running !== undefined && !previous ? { live: running.log } : {}) };
  }

  async #loop(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      try {
        await this.#sync();
      } catch (error) {
        this.#services.log(`pod ${this.#name()}: ${messageOf(error)}`);
        this.#after("retry", sandboxRetryMs, () => this.wake());
      }
    }
    // In the same breath as the look above: a call to wake in between would be lost.
    this.#syncing = undefined;
  }

  async #sync(): Promise<void> {
    if (this.#state === "forgotten") return;
    if (!this.#restored) {
      this.#restored = true;
      await this.containers.restore(this.#pod.status);
    }
    if (this.#state === "stopped") return this.#conclude();
    if (this.#state === "living") {
      if (this.#pod.metadata.deletionTimestamp !== undefined) void this.#stop();
      else await this.#live();
    } else if (this.#pod.metadata.deletionTimestamp !== undefined) this.#hurry();
    this.#publish();
  }

  async #live(): Promise<void> {
    this.#watchDeadline();
    const sandbox = await this.#ensureSandbox();
    if (sandbox === undefined) return;
    const decision = nextActions({
      spec: this.#pod.spec,
      records: this.containers.records,
      backoffMs: (record) => this.containers.backoffMs(record),
      now: this.#services.clock.now(),
    });
    if (decision.over) void this.#stop();
    for (const action of decision.actions) {
      if (action.do === "start") void this.containers.start(action.record, sandbox);
      else this.containers.waitToRestart(action.record, action.delayMs);
    }
  }

  #watchDeadline(): void {
    const seconds = this.#pod.spec.activeDeadlineSeconds;
    if (seconds === undefined) return;
    const begun = this.#pod.status?.startTime ? parseTime(this.#pod.status.startTime) : this.#startedAt;
    const left = begun + seconds * 1000 - this.#services.clock.now();
    const message = "Pod was active on the node longer than the specified deadline";
    if (left <= 0) void this.fail("DeadlineExceeded", message);
    else this.#after("deadline", left, () => void this.fail("DeadlineExceeded", message));
  }

  /** The sandbox with volumes that are up to date; undefined when that has to wait. */
  async #ensureSandbox(): Promise<PodSandbox | undefined> {
    if (this.#sandbox !== undefined && this.#isRefreshed) return this.#sandbox;
    if (this.#timers.has("retry")) return undefined;
    const real = this.#services.runtime.kind === "sandbox";
    try {
      if (real && this.#sandbox === undefined) await this.#volumes.prepare(this.#pod);
      // Meanwhile the pod may have been told to stop.
      if (this.#state !== "living") return undefined;
      if (this.#sandbox === undefined) {
        this.#making = this.#newSandbox();
        await this.#making;
      }
      // Fields of the pod's own status (its address) are known only now.
      if (real && this.#sandbox !== undefined) await this.#volumes.refresh(this.#pod);
    } catch (error) {
      this.#event("Warning", "FailedMount", messageOf(error));
      this.#after("retry", mountRetryMs, () => this.wake());
      return undefined;
    }
    if (this.#sandbox === undefined) return undefined;
    this.#isRefreshed = true;
    this.#keepFresh();
    this.#neighbours.onChange();
    return this.#sandbox;
  }

  /** Leaves nothing when it cannot be made now, or is not wanted any more once it is made. */
  async #newSandbox(): Promise<void> {
    const { addresses, node } = this.#services;
    const { hostNetwork } = this.#pod.spec;
    const address = hostNetwork ? node.hostAddress : addresses.allocate(this.#pod.status?.podIP);
    const release = () => {
      if (!hostNetwork) addresses.release(address);
    };
    try {
      const sandbox = await this.#makeSandbox(address);
      if (this.#state === "living") {
        this.#address = address;
        this.#sandbox = sandbox;
        return await this.#services.filterTraffic();
      }
      await sandbox.remove();
      release();
    } catch (error) {
      await this.#sandbox?.remove();
      this.#sandbox = undefined;
      release();
      const message = `Failed to create pod sandbox: ${messageOf(error)}`;
      this.#event("Warning", "FailedCreatePodSandBox", message);
      this.#services.log(`pod ${this.#name()}: ${message}`);
      this.#after("retry", sandboxRetryMs, () => this.wake());
    }
  }

  async #makeSandbox(address: string): Promise<PodSandbox> {
    const { runtime, node } = this.#services;
    const pod = this.#pod;
    const { hostname } = podHostname(pod, node.dns.domain);
    const { sysctls = [] } = pod.spec.securityContext ?? {};
    if (pod.spec.hostUsers === false && this.#services.ids === "all" && runtime.kind === "sandbox") {
      throw new NodeError(
        "Unsupported",
        "can't set `spec.hostUsers: false`, runtime does not support user namespaces when root has started it; start it as an ordinary user",
      );
    }
    const sandbox = await runtime.createPodSandbox({
      id: `${pod.metadata.uid}${this.#sandboxes++ === 0 ? "" : `-${this.#sandboxes}`}`,
      hostname,
      address,
      hostNetwork: pod.spec.hostNetwork,
      limits: this.#limits(),
      sysctls: sysctls.map(({ name, value }) => ({ path: sysctlPath(name), value })),
      processes: pod.spec.hostPID ? "node" : pod.spec.shareProcessNamespace ? "pod" : "container",
    });
    if (runtime.kind === "simulated") return sandbox;
    try {
      const nodeHosts = pod.spec.hostNetwork ? await readFile("/etc/hosts", "utf8").catch(() => "") : "";
      await Promise.all([
        writeFile(join(sandbox.directory, "hosts"), hostsFile(pod, address, node.dns.domain, nodeHosts)),
        writeFile(join(sandbox.directory, "resolv.conf"), resolvFile(pod, node.dns)),
        writeFile(join(sandbox.directory, "hostname"), `${hostname}\n`),
      ]);
    } catch (error) {
      await sandbox.remove();
      throw error;
    }
    return sandbox;
  }

  #keepFresh(): void {
    if (this.#services.runtime.kind === "simulated" || (this.#pod.spec.volumes ?? []).length === 0) return;
    this.#after("refresh", refreshMs, () => {
      void this.refreshVolumes().finally(() => this.#keepFresh());
    });
  }

  /** Stops the whole pod. May be asked again with less patience. */
  #stop(): Promise<void> {
    if (this.#state === "stopped" || this.#state === "forgotten") return Promise.resolve();
    this.#hurry();
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  /** A second deletion may leave less time than the first. */
  #hurry(): void {
    this.#deadline?.shorten(this.#graceMs());
  }

  #graceMs(): number {
    const { metadata, spec } = this.#pod;
    return (
      Math.max(1, metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 30) * 1000
    );
  }

  async #stopAll(): Promise<void> {
    this.#state = "stopping";
    const deadline = new Deadline(this.#services.clock, this.#graceMs());
    this.#deadline = deadline;
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    try {
      await this.containers.stopAll(deadline);
    } finally {
      deadline.cancel();
    }
    await this.#takeDown();
    this.#state = "stopped";
    void this.containers.save();
    this.wake();
  }

  /** Nothing runs any more. What cannot be removed is reported and left to the next start of the node. */
  async #takeDown(): Promise<void> {
    try {
      await this.#sandbox?.remove();
      await this.#volumes.teardown();
    } catch (error) {
      this.#services.log(`pod ${this.#name()}: cannot clean up: ${messageOf(error)}`);
    }
    if (this.#sandbox !== undefined && this.#address !== undefined && !this.#pod.spec.hostNetwork) {
      this.#services.addresses.release(this.#address);
    }
    this.#sandbox = undefined;
    this.#neighbours.onChange();
  }

  /** Outside of the loop: it waits for the API, and removing the pod or powering the node off must not. */
  #conclude(): void {
    const pod = this.#pod;
    this.#concluding ??= this.#finish()
      .catch((error: unknown) => {
        this.#services.log(`pod ${this.#name()}: ${messageOf(error)}`);
        this.#after("retry", sandboxRetryMs, () => this.wake());
      })
      .finally(() => {
        this.#concluding = undefined;
        if (pod !== this.#pod) this.wake();
      });
  }

  /** No process is left: the last status first, then, if the pod is being deleted, the object. */
  async #finish(): Promise<void> {
    this.#publish();
    await this.#writer.flush(this.#pod.metadata.uid);
    if (this.#pod.metadata.deletionTimestamp === undefined || this.#state === "forgotten") return;
    await this.#services.api.deletePod(this.#pod);
  }

  #publish(): void {
    if (this.#isGone) return;
    // A pod that ended in an earlier life of the node keeps the status it had.
    if (this.#state === "stopped" && this.#stopping === undefined) return;
    const status = makePodStatus({
      pod: { ...this.#pod, status: this.#writer.last(this.#pod.metadata.uid) ?? this.#pod.status },
      records: this.containers.records,
      address: this.#address,
      hasSandbox: this.#sandbox !== undefined,
      hostAddress: this.#services.node.hostAddress,
      startedAt: this.#startedAt,
      end: this.#state === "stopped" ? "stopped" : this.#state === "stopping" ? "stopping" : undefined,
      verdict: this.#verdict,
      resize: this.#resize,
      now: this.#services.clock.now(),
    });
    this.#writer.write(this.#pod, status);
  }

  #forget(): void {
    this.#state = "forgotten";
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
  }

  #after(key: string, delayMs: number, run: () => void): void {
    this.#timers.get(key)?.();
    if (this.#state === "forgotten") return;
    const cancel = this.#services.clock.timer(delayMs, () => {
      this.#timers.delete(key);
      run();
    });
    this.#timers.set(key, cancel);
  }

  #event(type: "Normal" | "Warning", reason: string, message: string, record?: ContainerRecord): void {
    const { namespace, name, uid, resourceVersion } = this.#pod.metadata;
    const places = {
      regular: "containers",
      ephemeral: "ephemeralContainers",
      init: "initContainers",
      sidecar: "initContainers",
    };
    const fieldPath =
      record === undefined ? {} : { fieldPath: `spec.${places[record.kind]}{${record.name}}` };
    const subject = { apiVersion: "v1", kind: "Pod", namespace, name, uid, resourceVersion, ...fieldPath };
    this.#services.recorder.event(subject, type, reason, message);
  }

  #name(): string {
    return `${this.#pod.metadata.namespace}/${this.#pod.metadata.name}`;
  }
}

/** As for containers: what was loaded here is not asked for elsewhere. */
async function imageOf({ images }: KubeletServices, image: string): Promise<ResolvedImage> {
  const present = await images.find(image);
  return present !== undefined && present.origin !== "registry" ? present : await images.pull(image, []);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
