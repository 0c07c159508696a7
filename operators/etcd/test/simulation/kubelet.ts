/** A kubelet, a scheduler and a volume binder in a few lines: pods become simulated members, claims become volumes. */
import type { Client } from "@keelson/client";
import type { Clock, ObjectOf } from "keelson";
import { Node, PersistentVolumeClaim, Pod, Secret } from "keelson/kinds";
import { annotations } from "../../src/api/names.ts";
import type { SimEtcd, SimProcess, TlsFiles, Volume } from "./etcd.ts";

type PodObject = ObjectOf<typeof Pod>;
type ClaimObject = ObjectOf<typeof PersistentVolumeClaim>;

interface PodRun {
  pod: PodObject;
  readonly ip: string;
  readonly node: string;
  process: SimProcess | undefined;
  restarts: number;
  ready: boolean;
  terminationMessage: string | undefined;
  ending: boolean;
  /** Files of mounted Secrets, by the Secret's name. */
  readonly files: Map<string, Readonly<Record<string, string>>>;
}

export interface KubeletOptions {
  readonly client: Client;
  readonly clock: Clock & { touch(): void };
  readonly etcd: SimEtcd;
}

const nodeNames = ["node-1", "node-2", "node-3"];
const startMs = 500;
const stopMs = 300;
const probeMs = 500;
/** How long a changed Secret takes to reach the pods that run. */
const secretMs = 90_000;

export class SimKubelet {
  readonly #options: KubeletOptions;
  readonly #runs = new Map<string, PodRun>();
  readonly #claims = new Map<string, ClaimObject>();
  readonly #volumes = new Map<string, Volume>();
  readonly #secrets = new Map<string, Readonly<Record<string, string>>>();
  readonly #lost = new Set<string>();
  readonly #stop = new AbortController();
  /** Image tags that no registry has. */
  readonly missingTags = new Set<string>();
  /** Image tags whose etcd ends at once. */
  readonly brokenTags = new Set<string>();
  /** Told of every pod that is asked to end, while its member still runs. */
  onDelete: (pod: PodObject) => void = () => {};
  #addresses = 0;

  constructor(options: KubeletOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    for (const name of nodeNames) {
      await this.#options.client.kind(Node).create({ metadata: { name } });
      await this.#setNode(name, "True");
    }
    void this.#follow(Pod, (type, pod) => this.#onPod(type, pod as PodObject));
    void this.#follow(PersistentVolumeClaim, (type, claim) => this.#onClaim(type, claim as ClaimObject));
    void this.#follow(Secret, (type, secret) => this.#onSecret(type, secret as ObjectOf<typeof Secret>));
  }

  /** A node loses power: its pods are gone, and nothing reports that. */
  async loseNode(name: string): Promise<void> {
    this.#lost.add(name);
    for (const run of this.#runs.values()) {
      if (run.node !== name) continue;
      run.process?.kill();
      run.ready = false;
      await this.#report(run);
    }
    await this.#setNode(name, "Unknown");
  }

  nodeOf(member: string): string {
    const run = [...this.#runs.values()].find(({ pod }) => pod.metadata.name === member);
    if (!run) throw new Error(`${member} has no pod`);
    return run.node;
  }

  async #setNode(name: string, ready: "True" | "Unknown"): Promise<void> {
    const at = this.#now();
    const condition = {
      type: "Ready",
      status: ready,
      reason: "Simulated",
      message: "",
      lastTransitionTime: at,
      lastHeartbeatTime: at,
    };
    await this.#options.client
      .kind(Node)
      .subresource("status")
      .patch({ name }, { type: "merge", body: { status: { conditions: [condition] } } });
  }

  #now(): string {
    return new Date(this.#options.clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
  }

  stop(): void {
    this.#stop.abort();
  }

  /** The volume behind a member's claim. */
  volumeOf(member: string): Volume {
    const claim = [...this.#claims.values()].find(({ metadata }) => metadata.name === member);
    const volume = claim && this.#volumes.get(claim.metadata.uid);
    if (!volume) throw new Error(`${member} has no volume`);
    return volume;
  }

  processOf(member: string): SimProcess | undefined {
    return [...this.#runs.values()].find(({ pod }) => pod.metadata.name === member)?.process;
  }

  /** The process dies as if killed, and its container is started again. */
  crash(member: string): void {
    this.processOf(member)?.kill();
  }

  async #follow<K extends typeof Pod | typeof PersistentVolumeClaim | typeof Secret>(
    kind: K,
    handle: (type: "added" | "modified" | "deleted", object: object) => void,
  ): Promise<void> {
    try {
      const events = this.#options.client
        .kind(kind)
        .watch({ initialEvents: true, bookmarks: true, signal: this.#stop.signal });
      for await (const event of events) {
        this.#options.clock.touch();
        if (event.type === "added" || event.type === "modified" || event.type === "deleted") {
          handle(event.type, event.object);
        }
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    }
  }

  // ------------------------------------------------------------------------------------ secrets

  #onSecret(type: string, { metadata, data = {} }: ObjectOf<typeof Secret>): void {
    const { name } = metadata;
    if (type === "deleted") return void this.#secrets.delete(name);
    const texts = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]);
    const files: Record<string, string> = {
      ...Object.fromEntries(texts),
      version: metadata.resourceVersion,
    };
    this.#secrets.set(name, files);
    this.#later(secretMs, async () => {
      for (const run of this.#runs.values()) {
        const mounted = run.files.get(name);
        if (mounted && Number(mounted["version"]) < Number(files["version"])) run.files.set(name, files);
      }
      this.#options.etcd.tick();
    });
  }

  /** What a member reads of a mounted Secret; "missing" keeps its container from starting. */
  #tlsFiles(run: PodRun, use: "peer" | "client"): TlsFiles | undefined | "missing" {
    const volume = run.pod.spec?.volumes?.find(({ name }) => name === `${use}-tls`);
    const name = volume?.secret?.secretName;
    if (name === undefined) return undefined;
    const files = run.files.get(name) ?? this.#secrets.get(name);
    if (!files) return "missing";
    run.files.set(name, files);
    return { trust: files["ca.crt"] ?? "", leaf: () => run.files.get(name)?.["tls.crt"] ?? "" };
  }

  // ------------------------------------------------------------------------------------ claims

  #onClaim(type: string, claim: ClaimObject): void {
    const { uid, name, namespace } = claim.metadata;
    if (type === "deleted") {
      this.#claims.delete(uid);
      this.#volumes.delete(uid);
      return;
    }
    this.#claims.set(uid, claim);
    this.#release(claim);
    void this.#grow(claim);
    if (this.#volumes.has(uid)) return;
    this.#volumes.set(uid, {});
    this.#later(100, async () => {
      if (!this.#claims.has(uid)) return;
      await this.#options.client
        .kind(PersistentVolumeClaim)
        .subresource("status")
        .patch(
          { namespace, name },
          { type: "merge", body: { metadata: { uid }, status: { phase: "Bound" } } },
        );
    });
  }

  /** A volume grows at once, its file system when a pod starts with it. */
  async #grow({ metadata, spec, status }: ClaimObject, started = false): Promise<void> {
    const size = spec?.resources?.requests?.["storage"];
    const before = status?.capacity?.["storage"];
    const pending = status?.conditions?.some(({ type }) => type === "FileSystemResizePending");
    if (status?.phase !== "Bound" || before === size || (pending && !started)) return;
    const first = before === undefined;
    const condition = { type: "FileSystemResizePending", status: "True" };
    const next =
      first || started ? { capacity: { storage: size }, conditions: [] } : { conditions: [condition] };
    const { name, namespace, uid } = metadata;
    await this.#options.client
      .kind(PersistentVolumeClaim)
      .subresource("status")
      .patch({ namespace, name }, { type: "merge", body: { metadata: { uid }, status: next } as never })
      .catch(() => {});
  }

  /** A claim that is deleted goes when no pod uses it any more. */
  #release({ metadata }: ClaimObject): void {
    const { uid, name, namespace, deletionTimestamp, finalizers = [] } = metadata;
    const used = [...this.#runs.values()].some(({ pod }) => pod.metadata.name === name);
    if (deletionTimestamp === undefined || finalizers.length === 0 || used) return;
    const body = { metadata: { uid, finalizers: [] } };
    void this.#options.client
      .kind(PersistentVolumeClaim)
      .patch({ namespace, name }, { type: "merge", body })
      .catch(() => {});
  }

  // ------------------------------------------------------------------------------------ pods

  #onPod(type: string, pod: PodObject): void {
    const { uid } = pod.metadata;
    const run = this.#runs.get(uid);
    if (type === "deleted") {
      run?.process?.kill();
      this.#runs.delete(uid);
      for (const claim of this.#claims.values()) this.#release(claim);
      return;
    }
    if (!run) {
      const fresh: PodRun = {
        pod,
        ip: `10.0.0.${++this.#addresses}`,
        node: this.#place(),
        process: undefined,
        restarts: 0,
        ready: false,
        files: new Map(),
        terminationMessage: undefined,
        ending: false,
      };
      this.#runs.set(uid, fresh);
      const trial = pod.spec?.containers[0]?.command?.includes("--version");
      this.#later(startMs, async () => await (trial ? this.#try(fresh) : this.#begin(fresh)));
      return;
    }
    run.pod = pod;
    if (pod.metadata.deletionTimestamp !== undefined && !run.ending) {
      run.ending = true;
      this.onDelete(pod);
      this.#later(stopMs, async () => {
        if (this.#lost.has(run.node)) return;
        run.process?.stop();
        const { namespace, name } = pod.metadata;
        await this.#options.client
          .kind(Pod)
          .delete({ namespace, name }, { uid, gracePeriodSeconds: 0 })
          .catch(() => {});
      });
    }
  }

  /** A pod that only asks for the version ends at once, when its image is there. */
  async #try(run: PodRun): Promise<void> {
    const { namespace, name, uid } = run.pod.metadata;
    const tag = run.pod.spec?.containers[0]?.image?.split(":").pop() ?? "";
    const image = run.pod.spec?.containers[0]?.image ?? "";
    const waiting = { reason: "ImagePullBackOff", message: `${tag} was not found` };
    const status = this.missingTags.has(tag)
      ? {
          phase: "Pending",
          containerStatuses: [
            { name: "etcd", image, imageID: "", ready: false, restartCount: 0, state: { waiting } },
          ],
        }
      : { phase: "Succeeded" };
    await this.#options.client
      .kind(Pod)
      .subresource("status")
      .patch({ namespace, name }, { type: "merge", body: { metadata: { uid }, status } as never })
      .catch(() => {});
  }

  /** The node that runs the fewest, of those that run at all. */
  #place(): string {
    const alive = nodeNames.filter((name) => !this.#lost.has(name));
    const load = (name: string) => [...this.#runs.values()].filter((run) => run.node === name).length;
    return alive.sort((a, b) => load(a) - load(b))[0] ?? "node-1";
  }

  async #begin(run: PodRun): Promise<void> {
    const { namespace, name, uid } = run.pod.metadata;
    if (!this.#runs.has(uid) || run.ending) return;
    if (run.pod.spec?.nodeName === undefined) {
      await this.#options.client
        .kind(Pod)
        .subresource("binding")
        .create({ namespace, name }, {
          apiVersion: "v1",
          kind: "Binding",
          metadata: { name, namespace },
          target: { kind: "Node", name: run.node },
        } as never)
        .catch(() => {});
    }
    this.#startContainer(run);
    const claim = [...this.#claims.values()].find((each) => each.metadata.name === name);
    if (claim) await this.#grow(claim, true);
    await this.#report(run);
    this.#probe(run);
  }

  #startContainer(run: PodRun): void {
    if (run.ending || !this.#runs.has(run.pod.metadata.uid)) return;
    const container = run.pod.spec?.containers[0];
    const tag = container?.image?.split(":").pop() ?? "";
    if (this.missingTags.has(tag)) return;
    if (this.brokenTags.has(tag)) {
      run.terminationMessage = "flag provided but not defined";
      return;
    }
    const flag = (name: string) =>
      container?.command?.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3) ?? "";
    // The environment is resolved at every start of the container, from the pod as it is then.
    const notes = run.pod.metadata.annotations ?? {};
    const claimName = run.pod.spec?.volumes?.[0]?.persistentVolumeClaim?.claimName;
    const claim = [...this.#claims.values()].find(({ metadata }) => metadata.name === claimName);
    const volume = claim && this.#volumes.get(claim.metadata.uid);
    const [peer, client] = [this.#tlsFiles(run, "peer"), this.#tlsFiles(run, "client")];
    if (!volume || peer === "missing" || client === "missing") return;
    const result = this.#options.etcd.start(
      {
        member: flag("name"),
        host: run.ip,
        peerUrl: flag("initial-advertise-peer-urls"),
        version: tag.replace(/^v/, ""),
        token: flag("initial-cluster-token"),
        initialCluster: notes[annotations.initialCluster] ?? "",
        state: notes[annotations.initialClusterState] ?? "",
        force: notes[annotations.forceNewCluster] === "true",
        tls: { peer, client },
        quotaBytes: Number(flag("quota-backend-bytes")),
      },
      volume,
    );
    if ("process" in result) run.process = result.process;
    else run.terminationMessage = result.terminationMessage;
  }

  /** Looks at the container twice a second, as probes do. */
  #probe(run: PodRun): void {
    this.#later(probeMs, async () => {
      if (run.ending || !this.#runs.has(run.pod.metadata.uid) || this.#lost.has(run.node)) return;
      const { process } = run;
      if (process?.removed && process.running()) {
        run.terminationMessage = "the member has been permanently removed from the cluster";
        process.kill();
      }
      let changed = false;
      if (!process || process.stopped) {
        run.restarts++;
        run.process = undefined;
        this.#startContainer(run);
        changed = true;
      }
      run.process?.publish();
      this.#options.etcd.tick();
      const ready = run.process?.ready ?? false;
      if (ready !== run.ready || changed) {
        run.ready = ready;
        await this.#report(run);
      }
      this.#probe(run);
    });
  }

  async #report(run: PodRun): Promise<void> {
    const { namespace, name, uid } = run.pod.metadata;
    const at = this.#now();
    const tag = run.pod.spec?.containers[0]?.image?.split(":").pop() ?? "";
    const missing = this.missingTags.has(tag);
    const state = run.process
      ? { running: { startedAt: at } }
      : missing
        ? { waiting: { reason: "ImagePullBackOff", message: `${tag} was not found` } }
        : { waiting: { reason: "CrashLoopBackOff", message: "back-off" } };
    const terminated =
      run.terminationMessage === undefined
        ? {}
        : { lastState: { terminated: { exitCode: 1, reason: "Error", message: run.terminationMessage } } };
    const condition = run.ready ? "True" : "False";
    const before = run.pod.status?.conditions?.find(({ type }) => type === "Ready");
    const since = before?.status === condition ? before.lastTransitionTime : at;
    const status = {
      phase: "Running",
      podIP: run.ip,
      podIPs: [{ ip: run.ip }],
      conditions: [{ type: "Ready", status: condition, lastTransitionTime: since }],
      containerStatuses: [
        {
          name: "etcd",
          image: run.pod.spec?.containers[0]?.image ?? "",
          imageID: "",
          ready: run.ready,
          restartCount: run.process || missing ? 0 : Math.min(run.restarts, 5),
          state,
          ...terminated,
        },
      ],
    };
    const same =
      JSON.stringify(status.containerStatuses) === JSON.stringify(run.pod.status?.containerStatuses);
    if (same && before?.status === condition) return;
    await this.#options.client
      .kind(Pod)
      .subresource("status")
      .patch({ namespace, name }, { type: "merge", body: { metadata: { uid }, status } as never })
      .catch(() => {});
  }

  #later(ms: number, work: () => Promise<void>): void {
    this.#options.clock.timer(ms, () => {
      if (this.#stop.signal.aborted) return;
      void work();
    });
  }
}
