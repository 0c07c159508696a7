/**
 * One pod from its arrival to its end.
 *
 * States: `living` (containers are started and restarted) → `stopping` (deleted, over, or past its deadline:
 * containers are being stopped) → `stopped` (no process is left; the object may still exist) → `forgotten`.
 */
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Cancel, formatDuration, parseTime } from "@keelson/core";
import type { Container, PodStatus } from "@keelson/core/kinds";
import type { ResolvedImage } from "../../images/index.ts";
import { NodeError } from "../errors.ts";
import type { PodSandbox } from "../runtime/container-runtime.ts";
import type { StoredPod } from "./api.ts";
import { type ContainerRecord, recordsFor } from "./container-record.ts";
import { logDirectory, logPath, type StartedContainer, startPodContainer } from "./container-starter.ts";
import { stopContainer } from "./container-stopper.ts";
import { Deadline } from "./deadline.ts";
import { runHook } from "./hooks.ts";
import { ImagePuller } from "./image-puller.ts";
import { readLog } from "./log-reader.ts";
import { nextActions } from "./next-actions.ts";
import { hostsFile, podHostname, resolvFile } from "./pod-files.ts";
import { ContainerProbes } from "./pod-prober.ts";
import { restoreRecords, saveRecords } from "./pod-records.ts";
import { makePodStatus } from "./pod-status.ts";
import { RestartBackoff } from "./restart-backoff.ts";
import { downwardContext, type KubeletServices } from "./services.ts";
import type { StatusWriter } from "./status-writer.ts";
import { PodVolumes } from "./volumes/pod-volumes.ts";

const maxMessageBytes = 4096;
const fallbackMessageBytes = 2048;
const sandboxRetryMs = 10_000;
const refreshMs = 60_000;
const configRetryMs = 5_000;

export type WorkerState = "living" | "stopping" | "stopped" | "forgotten";

/** Something that runs, and what belongs to it. */
export interface RunningContainer extends StartedContainer {
  readonly record: ContainerRecord;
  probes?: ContainerProbes;
  /** Listens to the output, for `attach`. */
  readonly listeners: Set<(stream: "stdout" | "stderr", chunk: Buffer) => void>;
  stopping?: Promise<void>;
}

export class PodWorker {
  readonly #services: KubeletServices;
  readonly #writer: StatusWriter;
  readonly #onChange: () => void;
  readonly #records: ContainerRecord[];
  readonly #running = new Map<string, RunningContainer>();
  readonly #volumes: PodVolumes;
  readonly #puller: ImagePuller;
  readonly #backoff: RestartBackoff;
  readonly #directory: string;
  readonly #timers = new Map<string, Cancel>();
  #pod: StoredPod;
  #state: WorkerState = "living";
  #sandbox: PodSandbox | undefined;
  #address: string | undefined;
  #startedAt: number;
  #verdict: { reason: string; message: string } | undefined;
  #deadline: Deadline | undefined;
  #stopping: Promise<void> | undefined;
  #syncing: Promise<void> | undefined;
  #again = false;
  #restored = false;
  #saving: Promise<void> = Promise.resolve();
  #sandboxes = 0;

  /** `onChange` is told when the sandbox comes or goes. */
  constructor(
    services: KubeletServices,
    writer: StatusWriter,
    pod: StoredPod,
    onChange: () => void = () => undefined,
  ) {
    this.#services = services;
    this.#onChange = onChange;
    this.#writer = writer;
    this.#pod = pod;
    this.#records = recordsFor(pod.spec);
    this.#directory = join(services.dataDirectory, "pods", pod.metadata.uid);
    this.#startedAt = services.clock.now();
    this.#puller = new ImagePuller(services);
    this.#backoff = new RestartBackoff(services.clock);
    this.#volumes = new PodVolumes({
      api: services.api,
      clock: services.clock,
      references: services.references.for(pod.metadata.uid),
      directory: this.#directory,
      ids: services.ids,
      canMount: services.runtime.kind === "sandbox",
      downward: (current) => downwardContext(services, current, this.#address ?? ""),
      imageRoot: async (image) => (await services.images.pull(image, [])).rootfs,
    });
    if (pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed") this.#state = "stopped";
  }

  get pod(): StoredPod {
    return this.#pod;
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
    return this.#running.get(container);
  }

  /** All that run at this moment. */
  allRunning(): RunningContainer[] {
    return [...this.#running.values()];
  }

  records(): readonly ContainerRecord[] {
    return this.#records;
  }

  record(container: string): ContainerRecord | undefined {
    return this.#records.find(({ name }) => name === container);
  }

  /** A newer version of the object. */
  update(pod: StoredPod): void {
    const labelled = JSON.stringify([this.#pod.metadata.labels, this.#pod.metadata.annotations]);
    this.#pod = pod;
    for (const fresh of recordsFor(pod.spec)) {
      if (fresh.kind === "ephemeral" && this.record(fresh.name) === undefined) this.#records.push(fresh);
    }
    if (labelled !== JSON.stringify([pod.metadata.labels, pod.metadata.annotations]))
      void this.refreshVolumes();
    this.wake();
  }

  /** The object is gone from the API: stop at once or as politely as it was told, and forget. */
  async remove(): Promise<void> {
    await this.#stop();
    await this.#syncing;
    this.#state = "forgotten";
    for (const cancel of this.#timers.values()) cancel();
    this.#services.references.release(this.#pod.metadata.uid);
    await this.#saving;
    await rm(logDirectory(this.#services, this.#pod), { recursive: true, force: true });
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Kills everything as a power cut would. The records on disk let the next life of the node go on. */
  async powerOff(): Promise<void> {
    this.#state = "forgotten";
    for (const cancel of this.#timers.values()) cancel();
    for (const running of this.#running.values()) running.probes?.stop();
    await this.#sandbox?.remove();
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
    this.#syncing ??= this.#loop().finally(() => {
      this.#syncing = undefined;
    });
  }

  async refreshVolumes(): Promise<void> {
    if (this.#state !== "living" || this.#sandbox === undefined) return;
    await this.#volumes.refresh(this.#pod).catch((error: unknown) => {
      this.#event("Warning", "FailedMount", messageOf(error));
    });
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
  }

  async #sync(): Promise<void> {
    if (this.#state === "forgotten") return;
    if (!this.#restored) {
      this.#restored = true;
      const path = join(this.#directory, "records.json");
      await restoreRecords(path, this.#records, this.#pod.status, this.#services.clock.now());
    }
    if (this.#state === "stopped") return await this.#finish();
    if (this.#pod.metadata.deletionTimestamp !== undefined) {
      void this.#stop();
      return this.#publish();
    }
    if (this.#state !== "living") return this.#publish();
    this.#watchDeadline();
    if (!(await this.#ensureSandbox())) return this.#publish();
    const decision = nextActions({
      spec: this.#pod.spec,
      records: this.#records,
      backoffMs: (record) => this.#backoff.remainingMs(record.name, record.termination?.finishedAt ?? 0),
      now: this.#services.clock.now(),
    });
    if (decision.over) {
      void this.#stop();
      return this.#publish();
    }
    for (const action of decision.actions) {
      if (action.do === "start") void this.#start(action.record);
      else this.#waitToRestart(action.record, action.delayMs);
    }
    this.#publish();
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

  async #ensureSandbox(): Promise<boolean> {
    if (this.#sandbox !== undefined) return true;
    const { runtime, addresses, node } = this.#services;
    const pod = this.#pod;
    const simulated = runtime.kind === "simulated";
    try {
      if (!simulated) await this.#volumes.prepare(pod);
    } catch (error) {
      this.#event("Warning", "FailedMount", messageOf(error));
      this.#after("retry", 2_000, () => this.wake());
      return false;
    }
    const hostNetwork = pod.spec.hostNetwork ?? false;
    const address = hostNetwork ? node.hostAddress : addresses.allocate();
    try {
      const sandbox = await runtime.createPodSandbox({
        id: `${pod.metadata.uid}${this.#sandboxes++ === 0 ? "" : `-${this.#sandboxes}`}`,
        hostname: podHostname(pod, node.dns.domain).hostname,
        address,
        hostNetwork,
        shareProcesses: pod.spec.shareProcessNamespace,
      });
      if (!simulated) {
        await Promise.all([
          writeFile(join(sandbox.directory, "hosts"), hostsFile(pod, address, node.dns.domain)),
          writeFile(join(sandbox.directory, "resolv.conf"), resolvFile(pod, node.dns)),
          writeFile(join(sandbox.directory, "hostname"), `${podHostname(pod, node.dns.domain).hostname}\n`),
        ]);
      }
      this.#sandbox = sandbox;
      this.#address = address;
      // Fields of the pod's own status (its address) are known only now.
      if (!simulated) await this.#volumes.refresh(pod);
      this.#keepFresh();
      this.#onChange();
      return true;
    } catch (error) {
      if (!hostNetwork) addresses.release(address);
      const message = `Failed to create pod sandbox: ${messageOf(error)}`;
      this.#event("Warning", "FailedCreatePodSandBox", message);
      this.#services.log(`pod ${this.#name()}: ${message}`);
      this.#after("retry", sandboxRetryMs, () => this.wake());
      return false;
    }
  }

  #keepFresh(): void {
    if (this.#services.runtime.kind === "simulated" || (this.#pod.spec.volumes ?? []).length === 0) return;
    this.#after("refresh", refreshMs, () => {
      void this.refreshVolumes().finally(() => this.#keepFresh());
    });
  }

  #waitToRestart(record: ContainerRecord, delayMs: number): void {
    const pause = formatDuration(this.#backoff.delayMs(record.name));
    record.waiting = {
      reason: "CrashLoopBackOff",
      message: `back-off ${pause} restarting failed container=${record.name} pod=${this.#podId()}`,
    };
    const key = `restart ${record.name}`;
    if (this.#timers.has(key)) return;
    this.#event(
      "Warning",
      "BackOff",
      `Back-off restarting failed container ${record.name} in pod ${this.#podId()}`,
      record,
    );
    this.#after(key, delayMs, () => this.wake());
  }

  async #start(record: ContainerRecord): Promise<void> {
    const sandbox = this.#sandbox;
    if (sandbox === undefined || record.busy) return;
    record.busy = true;
    try {
      const pulled = await this.#pull(record);
      if (pulled === undefined || this.#state !== "living") return;
      if (record.state === "exited") this.#backoff.advance(record.name, record.termination?.finishedAt ?? 0);
      await this.#run(record, sandbox, pulled);
    } catch (error) {
      this.#startFailed(record, error);
    } finally {
      record.busy = false;
      this.#save();
      this.wake();
    }
  }

  async #pull(record: ContainerRecord): Promise<ResolvedImage | undefined> {
    const result = await this.#puller.pull(this.#pod, record.spec, {
      normal: (reason, message) => this.#event("Normal", reason, message, record),
      warning: (reason, message) => this.#event("Warning", reason, message, record),
    });
    if ("image" in result) return result.image;
    record.waiting = result.waiting;
    this.#hold(record, result.retryMs);
    return undefined;
  }

  /** Keeps the next start back. */
  #hold(record: ContainerRecord, delayMs: number): void {
    record.heldUntil = this.#services.clock.now() + delayMs;
    this.#after(`hold ${record.name}`, delayMs, () => this.wake());
  }

  async #run(record: ContainerRecord, sandbox: PodSandbox, image: ResolvedImage): Promise<void> {
    const { clock, random } = this.#services;
    const id = Buffer.from(random.bytes(32)).toString("hex");
    const listeners: RunningContainer["listeners"] = new Set();
    const ended = record.termination;
    const started = await startPodContainer({
      services: this.#services,
      pod: this.#pod,
      sandbox,
      volumes: this.#volumes,
      container: record.spec,
      image,
      attempt: record.attempts,
      id: `${record.name}-${record.attempts}`,
      directory: this.#directory,
      onOutput: (stream, chunk) => {
        for (const listener of listeners) listener(stream, chunk);
      },
    });
    const running: RunningContainer = { ...started, record, listeners };
    this.#event("Normal", "Created", "Container created", record);
    this.#event("Normal", "Started", "Container started", record);
    record.containerId = `keelson://${id}`;
    record.image = record.spec.image;
    record.imageId = image.repoDigest;
    record.user = started.user;
    record.startedAt = clock.now();
    record.attempts++;
    if (ended !== undefined) record.previous = ended;
    this.#running.set(record.name, running);
    void this.#whenEnded(running);
    const hook = record.spec.lifecycle?.postStart;
    if (hook !== undefined && !(await this.#postStart(running, hook))) return;
    if (this.#running.get(record.name) !== running) return;
    record.state = "running";
    record.termination = undefined;
    record.waiting = undefined;
    if (this.#state === "living") this.#probe(running);
  }

  async #postStart(
    running: RunningContainer,
    hook: NonNullable<NonNullable<Container["lifecycle"]>["postStart"]>,
  ) {
    try {
      const timeoutMs = 2 ** 31 - 1;
      const done = runHook(hook, { ...this.#hookContext(running), timeoutMs });
      await Promise.race([done, running.handle.exited]);
      return true;
    } catch (error) {
      this.#event(
        "Warning",
        "FailedPostStartHook",
        `PostStartHook failed: ${messageOf(error)}`,
        running.record,
      );
      void this.#stopOne(running, "FailedPostStartHook", 30);
      return false;
    }
  }

  #hookContext(running: RunningContainer) {
    return {
      handle: running.handle,
      container: running.record.spec,
      podAddress: this.#address ?? "",
      clock: this.#services.clock,
    };
  }

  #probe(running: RunningContainer): void {
    const { record } = running;
    record.started = false;
    record.ready = false;
    if (record.kind === "init" || record.kind === "ephemeral") return;
    if (this.#services.runtime.kind === "simulated") {
      record.started = true;
      record.ready = true;
      return;
    }
    const names = { startup: "Startup", liveness: "Liveness", readiness: "Readiness" };
    running.probes = new ContainerProbes({
      ...this.#hookContext(running),
      onStarted: () => {
        record.started = true;
        this.wake();
      },
      onReady: (ready) => {
        record.ready = ready;
        this.wake();
      },
      onFailure: (kind, message) =>
        this.#event("Warning", "Unhealthy", `${names[kind]} probe failed: ${message}`, record),
      onUnhealthy: (kind) => {
        const probe = kind === "startup" ? record.spec.startupProbe : record.spec.livenessProbe;
        const grace =
          probe?.terminationGracePeriodSeconds ?? this.#pod.spec.terminationGracePeriodSeconds ?? 30;
        const message = `Container ${record.name} failed ${kind} probe, will be restarted`;
        void this.#stopOne(running, message, grace);
      },
    });
  }

  async #whenEnded(running: RunningContainer): Promise<void> {
    const { record, handle, log } = running;
    const { code, oomKilled } = await handle.exited;
    running.probes?.stop();
    log.close();
    if (this.#state === "forgotten") return;
    const finishedAt = this.#services.clock.now();
    const message = await this.#terminationMessage(running, code);
    // All at once: whoever looks in between must not take this end for the one before.
    this.#running.delete(record.name);
    record.state = "exited";
    record.ready = false;
    record.started = false;
    record.waiting = undefined;
    record.termination = {
      containerId: record.containerId ?? "",
      exitCode: code,
      reason: oomKilled ? "OOMKilled" : code === 0 ? "Completed" : "Error",
      message,
      startedAt: record.startedAt,
      finishedAt,
    };
    this.#save();
    this.wake();
  }

  async #terminationMessage(running: RunningContainer, code: number): Promise<string> {
    if (this.#services.runtime.kind === "simulated") return "";
    const text = await readFile(running.terminationMessage, "utf8").catch(() => "");
    if (text !== "") return text.slice(0, maxMessageBytes);
    if (running.record.spec.terminationMessagePolicy !== "FallbackToLogsOnError" || code === 0) return "";
    const chunks: Buffer[] = [];
    for await (const chunk of readLog({ path: running.log.path }, { tailLines: 80 })) chunks.push(chunk);
    return Buffer.concat(chunks).subarray(-fallbackMessageBytes).toString("utf8");
  }

  #startFailed(record: ContainerRecord, error: unknown): void {
    const message = messageOf(error);
    const code = error instanceof NodeError ? error.code : undefined;
    if (code === "ContainerConfig" || code === "MountFailed") {
      record.waiting = { reason: "CreateContainerConfigError", message };
      this.#event("Warning", "Failed", `Error: ${message}`, record);
      this.#hold(record, configRetryMs);
      return;
    }
    const now = this.#services.clock.now();
    const id = Buffer.from(this.#services.random.bytes(32)).toString("hex");
    if (record.termination !== undefined) record.previous = record.termination;
    record.containerId = `keelson://${id}`;
    record.attempts++;
    record.state = "exited";
    record.termination = {
      containerId: record.containerId,
      exitCode: 128,
      reason: "StartError",
      message,
      startedAt: 0,
      finishedAt: now,
    };
    record.waiting = { reason: "RunContainerError", message };
    this.#event("Warning", "Failed", `Error: ${message}`, record);
  }

  /** Stops one container; the pod goes on. */
  #stopOne(running: RunningContainer, message: string, graceSeconds: number): Promise<void> {
    this.#event("Normal", "Killing", message, running.record);
    running.probes?.stop();
    const deadline = new Deadline(this.#services.clock, graceSeconds * 1000);
    running.stopping ??= this.#stopWith(running, deadline).finally(() => deadline.cancel());
    return running.stopping;
  }

  #stopWith(running: RunningContainer, deadline: Deadline): Promise<void> {
    return stopContainer({
      ...this.#hookContext(running),
      signal: (running.record.spec.lifecycle?.stopSignal ?? "SIGTERM") as NodeJS.Signals,
      deadline,
      onHookFailed: (message) =>
        this.#event("Warning", "FailedPreStopHook", `PreStopHook failed: ${message}`, running.record),
    });
  }

  /** Stops the whole pod: regular containers together, then sidecars, the last one first. */
  #stop(): Promise<void> {
    const seconds = Math.max(
      1,
      this.#pod.metadata.deletionGracePeriodSeconds ?? this.#pod.spec.terminationGracePeriodSeconds ?? 30,
    );
    this.#deadline?.shorten(seconds * 1000);
    if (this.#state === "stopped" || this.#state === "forgotten") return Promise.resolve();
    this.#stopping ??= this.#stopAll(seconds);
    return this.#stopping;
  }

  async #stopAll(seconds: number): Promise<void> {
    this.#state = "stopping";
    const deadline = new Deadline(this.#services.clock, seconds * 1000);
    this.#deadline = deadline;
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    const stop = async (running: RunningContainer) => {
      this.#event("Normal", "Killing", `Stopping container ${running.record.name}`, running.record);
      running.probes?.stop();
      running.stopping ??= this.#stopWith(running, deadline);
      await running.stopping;
    };
    try {
      const sidecars = this.allRunning().filter(({ record }) => record.kind === "sidecar");
      const others = this.allRunning().filter(({ record }) => record.kind !== "sidecar");
      await Promise.all(others.map(stop));
      for (const sidecar of sidecars.reverse()) await stop(sidecar);
      // Those whose start was under way when the stop began.
      await Promise.all(this.allRunning().map(stop));
    } finally {
      deadline.cancel();
    }
    await this.#takeDown();
    this.#state = "stopped";
    this.#save();
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
    this.#onChange();
  }

  /** No process is left: the last status first, then, if the pod is being deleted, the object. */
  async #finish(): Promise<void> {
    this.#publish();
    await this.#writer.flush(this.#pod.metadata.uid);
    if (this.#pod.metadata.deletionTimestamp === undefined) return;
    await this.#services.api.deletePod(this.#pod);
  }

  #publish(): void {
    const before: PodStatus | undefined = this.#writer.last(this.#pod.metadata.uid) ?? this.#pod.status;
    const isOld = this.#state === "stopped" && this.#records.every(({ attempts }) => attempts === 0);
    // A pod that ended in an earlier life of the node keeps the status it had.
    if (isOld && this.#verdict === undefined && this.#stopping === undefined) return;
    const status = makePodStatus({
      pod: { ...this.#pod, status: before },
      records: this.#records,
      address: this.#sandbox === undefined ? undefined : this.#address,
      hostAddress: this.#services.node.hostAddress,
      startedAt: this.#startedAt,
      end: this.#state === "stopped" ? "stopped" : this.#state === "stopping" ? "stopping" : undefined,
      verdict: this.#verdict,
      now: this.#services.clock.now(),
    });
    if (this.#address !== undefined && status.podIP === undefined) {
      status.podIP = this.#address;
      status.podIPs = [{ ip: this.#address }];
    }
    this.#writer.write(this.#pod, status);
  }

  #save(): void {
    if (this.#state === "forgotten" || this.#services.runtime.kind === "simulated") return;
    this.#saving = this.#saving
      .then(() => saveRecords(join(this.#directory, "records.json"), this.#records))
      .catch((error: unknown) =>
        this.#services.log(`pod ${this.#name()}: cannot save its records: ${messageOf(error)}`),
      );
  }

  #after(key: string, delayMs: number, run: () => void): void {
    this.#timers.get(key)?.();
    const cancel = this.#services.clock.timer(delayMs, () => {
      this.#timers.delete(key);
      run();
    });
    this.#timers.set(key, cancel);
  }

  #event(type: "Normal" | "Warning", reason: string, message: string, record?: ContainerRecord): void {
    const { namespace, name, uid, resourceVersion } = this.#pod.metadata;
    const place =
      record?.kind === "regular"
        ? "containers"
        : record?.kind === "ephemeral"
          ? "ephemeralContainers"
          : "initContainers";
    const fieldPath = record === undefined ? undefined : `spec.${place}{${record.name}}`;
    this.#services.recorder.event(
      {
        apiVersion: "v1",
        kind: "Pod",
        namespace,
        name,
        uid,
        resourceVersion,
        ...(fieldPath ? { fieldPath } : {}),
      },
      type,
      reason,
      message,
    );
  }

  #name(): string {
    return `${this.#pod.metadata.namespace}/${this.#pod.metadata.name}`;
  }

  #podId(): string {
    const { namespace, name, uid } = this.#pod.metadata;
    return `${name}_${namespace}(${uid})`;
  }

  /** The log of an attempt: `live` while it runs. */
  logSource(container: string, previous: boolean): { path: string; live?: StartedContainer["log"] } {
    const record = this.record(container);
    if (record === undefined)
      throw new NodeError("NotFound", `container ${container} not found in pod ${this.#podId()}`);
    const running = this.#running.get(container);
    const attempt = record.attempts - (previous ? 2 : 1);
    if (attempt < 0) {
      throw new NodeError(
        "NotFound",
        previous
          ? `previous terminated container ${JSON.stringify(container)} in pod ${JSON.stringify(this.#pod.metadata.name)} not found`
          : `container ${JSON.stringify(container)} in pod ${JSON.stringify(this.#pod.metadata.name)} is waiting to start: ${record.waiting?.reason ?? "ContainerCreating"}`,
      );
    }
    const path = logPath(this.#services, this.#pod, container, attempt);
    return { path, ...(running !== undefined && !previous ? { live: running.log } : {}) };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
