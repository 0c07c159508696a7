/** The containers of one pod: their attempts, probes and ends. What to do next is decided by the pod's worker. */
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { formatDuration } from "@keelson/core";
import type { Container, LifecycleHandler, PodStatus, ResourceRequirements } from "@keelson/core/kinds";
import type { ResolvedImage } from "@keelson/images";
import type { StoredPod } from "../api/api.ts";
import { NodeError } from "../errors.ts";
import type { PodSandbox } from "../runtime/container-runtime.ts";
import type { PodVolumes } from "../volumes/pod-volumes.ts";
import { readBounded } from "./bounded-file.ts";
import { type ContainerRecord, recordsFor, shouldRestart } from "./container-record.ts";
import { limitsOf, type StartedContainer, startPodContainer } from "./container-starter.ts";
import { stopContainer } from "./container-stopper.ts";
import { Deadline } from "./deadline.ts";
import { runHook } from "./hooks.ts";
import { ImagePuller } from "./image-puller.ts";
import { readLog } from "./log-reader.ts";
import { ContainerProbes } from "./pod-prober.ts";
import { restoreRecords, saveRecords } from "./pod-records.ts";
import { RestartBackoff } from "./restart-backoff.ts";
import type { KubeletServices } from "./services.ts";

const maxMessageBytes = 4096;
const fallbackMessageBytes = 2048;
const configRetryMs = 5_000;
const hookGraceSeconds = 30;
const longestTimerMs = 2 ** 31 - 1;

/** Something that runs, and what belongs to it. */
export interface RunningContainer extends StartedContainer {
  readonly record: ContainerRecord;
  readonly stopSignal: NodeJS.Signals;
  /** Told of all output, for `attach`. */
  readonly listeners: Set<(stream: "stdout" | "stderr", chunk: Buffer) => void>;
  /** Resolves when its end is in the record. */
  ended?: Promise<void>;
  probes?: ContainerProbes;
  stopping?: Promise<void>;
}

/** What the containers need of their pod. */
export interface PodContext {
  readonly services: KubeletServices;
  readonly volumes: PodVolumes;
  /** The pod's directory on this machine. */
  readonly directory: string;
  pod(): StoredPod;
  address(): string;
  /** False as soon as nothing may be started any more. */
  isLiving(): boolean;
  /** Something changed: look at the pod again. */
  wake(): void;
  event(type: "Normal" | "Warning", reason: string, message: string, record?: ContainerRecord): void;
  /** Runs once after a while; a later call with the same key replaces an earlier one. */
  after(key: string, delayMs: number, run: () => void): void;
  /** Whether something is due under this key. */
  isDue(key: string): boolean;
}

export class PodContainers {
  readonly #context: PodContext;
  readonly #records: ContainerRecord[];
  readonly #running = new Map<string, RunningContainer>();
  readonly #puller: ImagePuller;
  readonly #backoff: RestartBackoff;
  #saving: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(context: PodContext) {
    this.#context = context;
    this.#records = recordsFor(context.pod().spec);
    this.#puller = new ImagePuller(context.services);
    this.#backoff = new RestartBackoff(context.services.clock);
  }

  get records(): readonly ContainerRecord[] {
    return this.#records;
  }

  record(name: string): ContainerRecord | undefined {
    return this.#records.find((record) => record.name === name);
  }

  running(name: string): RunningContainer | undefined {
    return this.#running.get(name);
  }

  allRunning(): RunningContainer[] {
    return [...this.#running.values()];
  }

  /**
   * Containers may be added to a living pod to debug it, and change their images and resources: these once the pod as a
   * whole has room for them. Resolves when every limit is as it should be.
   */
  async update(pod: StoredPod, room: Promise<unknown> = Promise.resolve()): Promise<void> {
    const limiting: Promise<void>[] = [];
    for (const { name, kind, spec } of recordsFor(pod.spec)) {
      const record = this.record(name);
      if (record !== undefined) limiting.push(this.#redefine(record, spec, room));
      else if (kind === "ephemeral")
        this.#records.push(...recordsFor(pod.spec).filter((one) => one.name === name));
    }
    await Promise.all(limiting);
  }

  async #redefine(record: ContainerRecord, spec: Container, room: Promise<unknown>): Promise<void> {
    const { image, resources } = record.spec;
    record.spec = spec;
    const running = this.#running.get(record.name);
    if (running === undefined || record.kind === "init" || record.kind === "ephemeral") return;
    const resized = !isDeepStrictEqual(resources, spec.resources);
    const restarts = image !== spec.image || (resized && restartsOnResize(resources, spec));
    if (restarts) {
      record.redefined = true;
      this.#backoff.forget(record.name);
      const message = `Container ${record.name} definition changed, will be restarted`;
      void this.#stopOne(running, message, this.#context.pod().spec.terminationGracePeriodSeconds ?? 30);
    } else if (resized) {
      try {
        await room;
        await running.handle.limit(limitsOf(spec));
      } catch (error) {
        this.#context.event("Warning", "ResizeError", messageOf(error), record);
      }
    }
  }

  backoffMs(record: ContainerRecord): number {
    return this.#backoff.remainingMs(record.name, record.termination?.finishedAt ?? 0);
  }

  async restore(status: PodStatus | undefined): Promise<void> {
    await restoreRecords(this.#file(), this.#records, status, this.#context.services.clock.now());
  }

  /** Writes the records down, one after the other. */
  save(): Promise<void> {
    const { services } = this.#context;
    if (services.runtime.kind === "simulated" || this.#closed) return this.#saving;
    this.#saving = this.#saving
      .then(() => saveRecords(this.#file(), this.#records))
      .catch((error: unknown) => services.log(`cannot save a pod's records: ${messageOf(error)}`));
    return this.#saving;
  }

  waitToRestart(record: ContainerRecord, delayMs: number): void {
    const { namespace, name, uid } = this.#context.pod().metadata;
    const pod = `${name}_${namespace}(${uid})`;
    const pause = formatDuration(this.#backoff.delayMs(record.name));
    record.waiting = {
      reason: "CrashLoopBackOff",
      message: `back-off ${pause} restarting failed container=${record.name} pod=${pod}`,
    };
    const key = `restart ${record.name}`;
    if (this.#context.isDue(key)) return;
    const message = `Back-off restarting failed container ${record.name} in pod ${pod}`;
    this.#context.event("Warning", "BackOff", message, record);
    this.#context.after(key, delayMs, () => this.#context.wake());
  }

  /** Starts the next attempt; every outcome ends up in the record. */
  async start(record: ContainerRecord, sandbox: PodSandbox): Promise<void> {
    if (record.busy) return;
    record.busy = true;
    try {
      const image = await this.#pull(record);
      if (image === undefined || !this.#context.isLiving()) return;
      if (record.state === "exited" && !record.redefined)
        this.#backoff.advance(record.name, record.termination?.finishedAt ?? 0);
      await this.#run(record, sandbox, image);
    } catch (error) {
      this.#startFailed(record, error);
    } finally {
      record.busy = false;
      void this.save();
      this.#context.wake();
    }
  }

  /** Regular containers together, then sidecars, the last one first. */
  async stopAll(deadline: Deadline): Promise<void> {
    const stop = async (running: RunningContainer) => {
      const { record, handle } = running;
      running.probes?.stop();
      if (running.stopping === undefined) {
        this.#context.event("Normal", "Killing", `Stopping container ${record.name}`, record);
        running.stopping = this.#stopWith(running, deadline);
      } else {
        // It is being stopped already, with a deadline of its own that may be later than ours.
        void deadline.passed.then(() => handle.signal("SIGKILL"));
      }
      await running.stopping;
      await running.ended;
    };
    const isSidecar = ({ record }: RunningContainer) => record.kind === "sidecar";
    await Promise.all(
      this.allRunning()
        .filter((one) => !isSidecar(one))
        .map(stop),
    );
    for (const sidecar of this.allRunning().filter(isSidecar).reverse()) await stop(sidecar);
    // Those whose start was under way when the stop began.
    await Promise.all(this.allRunning().map(stop));
  }

  /** Leaves the records as they are, whatever happens to the containers from now on. */
  async close(): Promise<void> {
    for (const { probes } of this.#running.values()) probes?.stop();
    await this.save();
    this.#closed = true;
  }

  /** Sends every container its stop signal and waits until all have ended, or for `graceMs`. */
  async ask(graceMs: number): Promise<void> {
    const running = this.allRunning();
    for (const { handle, stopSignal } of running) handle.signal(stopSignal);
    const patience = new Promise<void>((resolve) => this.#context.services.clock.timer(graceMs, resolve));
    await Promise.race([Promise.all(running.map(({ handle }) => handle.exited)), patience]);
  }

  async #pull(record: ContainerRecord): Promise<ResolvedImage | undefined> {
    const { event, pod } = this.#context;
    const result = await this.#puller.pull(pod(), record.spec, {
      normal: (reason, message) => event("Normal", reason, message, record),
      warning: (reason, message) => event("Warning", reason, message, record),
    });
    if ("image" in result) return result.image;
    record.waiting = result.waiting;
    this.#hold(record, result.retryMs);
    return undefined;
  }

  /** Keeps the next start back. */
  #hold(record: ContainerRecord, delayMs: number): void {
    record.heldUntil = this.#context.services.clock.now() + delayMs;
    this.#context.after(`hold ${record.name}`, delayMs, () => this.#context.wake());
  }

  async #run(record: ContainerRecord, sandbox: PodSandbox, image: ResolvedImage): Promise<void> {
    const { services, volumes, directory, event } = this.#context;
    const listeners: RunningContainer["listeners"] = new Set();
    const ended = record.termination;
    const started = await startPodContainer({
      ...{ services, sandbox, volumes, image, directory, container: record.spec },
      ...this.#target(record),
      pod: this.#context.pod(),
      attempt: record.attempts,
      oneShot: !shouldRestart(record, this.#context.pod().spec, 0),
      id: `${record.name}-${record.attempts}`,
      onOutput: (stream, chunk) => {
        for (const listener of listeners) listener(stream, chunk);
      },
    });
    const asked = record.spec.lifecycle?.stopSignal ?? image.config.stopSignal;
    const running: RunningContainer = {
      ...started,
      record,
      listeners,
      stopSignal: (asked || "SIGTERM") as NodeJS.Signals,
    };
    event("Normal", "Created", "Container created", record);
    event("Normal", "Started", "Container started", record);
    record.containerId = this.#newId();
    record.image = record.spec.image;
    record.imageId = image.repoDigest;
    record.user = started.user;
    record.startedAt = services.clock.now();
    record.attempts++;
    record.redefined = false;
    if (ended !== undefined) record.previous = ended;
    this.#running.set(record.name, running);
    running.ended = this.#whenEnded(running);
    const hook = record.spec.lifecycle?.postStart;
    if (hook !== undefined && !(await this.#postStart(running, hook))) return;
    if (this.#running.get(record.name) !== running) return;
    record.state = "running";
    record.termination = undefined;
    record.waiting = undefined;
    if (this.#context.isLiving()) this.#probe(running);
  }

  /** A debugging container may ask to see the processes of another. */
  #target(record: ContainerRecord): { joins?: number } {
    const { targetContainerName } = record.spec as { targetContainerName?: string };
    const target = targetContainerName === undefined ? undefined : this.#running.get(targetContainerName);
    return target === undefined ? {} : { joins: target.handle.pid };
  }

  async #postStart(running: RunningContainer, hook: LifecycleHandler): Promise<boolean> {
    try {
      const done = runHook(hook, { ...this.#hookContext(running), timeoutMs: longestTimerMs });
      await Promise.race([done, running.handle.exited]);
      return true;
    } catch (error) {
      const message = `PostStartHook failed: ${messageOf(error)}`;
      this.#context.event("Warning", "FailedPostStartHook", message, running.record);
      void this.#stopOne(running, "FailedPostStartHook", hookGraceSeconds);
      return false;
    }
  }

  #probe(running: RunningContainer): void {
    const { record } = running;
    record.started = false;
    record.ready = false;
    if (record.kind === "init" || record.kind === "ephemeral") return;
    if (this.#context.services.runtime.kind === "simulated") {
      record.started = true;
      record.ready = true;
      return;
    }
    const names = { startup: "Startup", liveness: "Liveness", readiness: "Readiness" };
    running.probes = new ContainerProbes({
      ...this.#hookContext(running),
      onStarted: () => {
        record.started = true;
        this.#context.wake();
      },
      onReady: (ready) => {
        record.ready = ready;
        this.#context.wake();
      },
      onFailure: (kind, message) =>
        this.#context.event("Warning", "Unhealthy", `${names[kind]} probe failed: ${message}`, record),
      onUnhealthy: (kind) => {
        const probe = kind === "startup" ? record.spec.startupProbe : record.spec.livenessProbe;
        const whole = this.#context.pod().spec.terminationGracePeriodSeconds ?? 30;
        const message = `Container ${record.name} failed ${kind} probe, will be restarted`;
        void this.#stopOne(running, message, probe?.terminationGracePeriodSeconds ?? whole);
      },
    });
  }

  async #whenEnded(running: RunningContainer): Promise<void> {
    const { record, handle, log } = running;
    const { code, oomKilled } = await handle.exited;
    running.probes?.stop();
    log.close();
    if (this.#closed) return;
    const finishedAt = this.#context.services.clock.now();
    const message = await this.#terminationMessage(running, code);
    // All at once: a reader in between must not take this end for the one before.
    this.#running.delete(record.name);
    record.state = "exited";
    // Who is replaced is shown as it was until the next one runs.
    record.ready &&= record.redefined === true;
    record.started &&= record.redefined === true;
    record.waiting = undefined;
    record.termination = {
      containerId: record.containerId ?? "",
      exitCode: code,
      reason: oomKilled ? "OOMKilled" : code === 0 ? "Completed" : "Error",
      message,
      startedAt: record.startedAt,
      finishedAt,
    };
    void this.save();
    this.#context.wake();
  }

  async #terminationMessage(running: RunningContainer, code: number): Promise<string> {
    if (this.#context.services.runtime.kind === "simulated") return "";
    const text = (await readBounded(running.terminationMessage, maxMessageBytes))?.toString("utf8") ?? "";
    if (text !== "") return text;
    if (running.record.spec.terminationMessagePolicy !== "FallbackToLogsOnError" || code === 0) return "";
    const chunks: Buffer[] = [];
    for await (const chunk of readLog({ path: running.log.path }, { tailLines: 80 })) chunks.push(chunk);
    return Buffer.concat(chunks).subarray(-fallbackMessageBytes).toString("utf8");
  }

  #startFailed(record: ContainerRecord, error: unknown): void {
    const message = messageOf(error);
    const code = error instanceof NodeError ? error.code : undefined;
    this.#context.event("Warning", "Failed", `Error: ${message}`, record);
    if (code === "ContainerConfig" || code === "MountFailed") {
      record.waiting = { reason: "CreateContainerConfigError", message };
      this.#hold(record, configRetryMs);
      return;
    }
    if (record.termination !== undefined) record.previous = record.termination;
    record.containerId = this.#newId();
    record.attempts++;
    record.state = "exited";
    record.termination = {
      ...{ containerId: record.containerId, message, exitCode: 128, reason: "StartError", startedAt: 0 },
      finishedAt: this.#context.services.clock.now(),
    };
    record.waiting = { reason: "RunContainerError", message };
  }

  /** Stops one container; the pod goes on. */
  #stopOne(running: RunningContainer, message: string, graceSeconds: number): Promise<void> {
    this.#context.event("Normal", "Killing", message, running.record);
    running.probes?.stop();
    const deadline = new Deadline(this.#context.services.clock, graceSeconds * 1000);
    running.stopping ??= this.#stopWith(running, deadline).finally(() => deadline.cancel());
    return running.stopping;
  }

  #stopWith(running: RunningContainer, deadline: Deadline): Promise<void> {
    return stopContainer({
      ...this.#hookContext(running),
      signal: running.stopSignal,
      deadline,
      onHookFailed: (message) =>
        this.#context.event("Warning", "FailedPreStopHook", `PreStopHook failed: ${message}`, running.record),
    });
  }

  #hookContext(running: RunningContainer) {
    return {
      handle: running.handle,
      container: running.record.spec,
      podAddress: this.#context.address(),
      clock: this.#context.services.clock,
    };
  }

  #newId(): string {
    return `keelson://${Buffer.from(this.#context.services.random.bytes(32)).toString("hex")}`;
  }

  #file(): string {
    return join(this.#context.directory, "records.json");
  }
}

/** Each resource says by itself whether its container must begin again. */
function restartsOnResize(
  before: ResourceRequirements | undefined,
  { resources, resizePolicy }: Container,
): boolean {
  return (resizePolicy ?? []).some(
    ({ resourceName, restartPolicy }) =>
      restartPolicy === "RestartContainer" &&
      (before?.limits?.[resourceName] !== resources?.limits?.[resourceName] ||
        before?.requests?.[resourceName] !== resources?.requests?.[resourceName]),
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
