/** Faults of pods, volumes and the network, carried out inside the cluster's namespace. */
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { open, readdir, rename, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { NodeApi } from "../api/api.ts";
import { NodeError } from "../errors.ts";
import type { RunningContainer } from "../kubelet/pod-containers.ts";
import type { PodWorker } from "../kubelet/pod-worker.ts";
import type { Delays } from "../network/delays.ts";
import type { ServiceNetwork } from "../network/service-network.ts";
import type { Cut } from "../network/service-rules.ts";
import type { Fault, NodeFault, PodRef } from "./fault.ts";

export interface PodFaultsOptions {
  /** The persistent volume of that name, if there is one. */
  readonly volume: NodeApi["volume"];
  readonly find: (pod: PodRef) => PodWorker | undefined;
  /** Absent where the machine has no packet filter. */
  readonly network: ServiceNetwork | undefined;
  readonly delays: Delays;
}

const ballast = ".keelson-ballast";
const chunkBytes = 1 << 20;

export class PodFaults {
  readonly #options: PodFaultsOptions;
  /** With the pod that is cut off. It may be gone before its cut is removed. */
  readonly #cuts: { readonly pod: PodRef; readonly cut: Cut }[] = [];

  constructor(options: PodFaultsOptions) {
    this.#options = options;
  }

  async inject(fault: Exclude<Fault, NodeFault>): Promise<void> {
    switch (fault.kind) {
      case "kill":
        for (const { handle } of this.#running(fault)) handle.signal(fault.signal ?? "SIGKILL");
        return;
      case "freeze":
        await Promise.all(this.#running(fault).map(({ handle }) => handle.freeze(fault.frozen)));
        return;
      case "cut":
        return await this.#cut(fault);
      case "mend":
        return await this.#mend(fault.pod);
      case "delay":
        return await this.#delay(fault);
      case "fillDisk":
        return await fill(await this.#capped(fault.pod, fault.volume), fault.leaveBytes ?? 0);
      case "freeDisk":
        return await rm(join(this.#volume(fault.pod, fault.volume), ballast), { force: true });
      case "loseVolume":
        return await this.#lose(fault);
    }
  }

  async #cut({ pod, direction, peer }: Extract<Fault, { kind: "cut" }>): Promise<void> {
    const address = this.#address(pod);
    const other = peer === undefined ? undefined : this.#address(peer);
    if (direction !== "in") this.#cuts.push({ pod, cut: { from: address, ...(other ? { to: other } : {}) } });
    if (direction !== "out")
      this.#cuts.push({ pod, cut: { to: address, ...(other ? { from: other } : {}) } });
    await this.#applyCuts();
  }

  async #mend(pod: PodRef | undefined): Promise<void> {
    const kept = this.#cuts.filter(
      (one) => pod !== undefined && (one.pod.namespace !== pod.namespace || one.pod.name !== pod.name),
    );
    if (pod !== undefined && kept.length === this.#cuts.length) this.#worker(pod);
    this.#cuts.splice(0, this.#cuts.length, ...kept);
    await this.#applyCuts();
  }

  async #applyCuts(): Promise<void> {
    await this.#network().setCuts(this.#cuts.map(({ cut }) => cut));
  }

  async #delay({ pod, delayMs, ports }: Extract<Fault, { kind: "delay" }>): Promise<void> {
    const worker = this.#worker(pod);
    const declared = worker.pod.spec.containers.flatMap((container) => container.ports ?? []);
    const wanted = ports ?? declared.map(({ containerPort }) => containerPort);
    await this.#options.delays.set(this.#address(pod), wanted, delayMs);
    await this.#network().setDelays([...this.#options.delays.ports()]);
  }

  async #lose({ volume: name, path: told }: Extract<Fault, { kind: "loseVolume" }>): Promise<void> {
    const spec = told === undefined ? (await this.#options.volume(name))?.spec : undefined;
    const path = told ?? spec?.hostPath?.path ?? spec?.local?.path;
    if (path === undefined) throw new NodeError("NotFound", `there is no local persistent volume ${name}`);
    const options = { recursive: true, force: true, maxRetries: 20, retryDelay: 10 };
    for (const entry of await readdir(path)) {
      // A pod may write meanwhile: by another name nobody finds it, and only who has it open can delay its end.
      const lost = join(path, `.lost-${randomUUID()}`);
      await rename(join(path, entry), lost);
      await rm(lost, options);
    }
  }

  /** Filling what is not capped would fill the machine. */
  async #capped(pod: PodRef, volume: string): Promise<string> {
    const path = this.#volume(pod, volume);
    const { type } = await statfs(path);
    const tmpfs = 0x01021994;
    if (type !== tmpfs) {
      throw new NodeError(
        "Unsupported",
        `volume ${volume} has no size cap: use an emptyDir with medium Memory and a sizeLimit, or a capped persistent volume`,
      );
    }
    return path;
  }

  #volume(pod: PodRef, volume: string): string {
    const path = this.#worker(pod).volumePath(volume);
    if (path === undefined)
      throw new NodeError("NotFound", `pod ${pod.namespace}/${pod.name} has no volume ${volume}`);
    return path;
  }

  #running({ pod, container }: { pod: PodRef; container?: string }): RunningContainer[] {
    const { containers } = this.#worker(pod);
    if (container === undefined) return containers.allRunning();
    const found = containers.running(container);
    if (found === undefined)
      throw new NodeError("NotFound", `container ${container} of ${pod.name} is not running`);
    return [found];
  }

  #address(pod: PodRef): string {
    const { address } = this.#worker(pod);
    if (address === undefined)
      throw new NodeError("NotFound", `pod ${pod.namespace}/${pod.name} has no address yet`);
    return address;
  }

  #worker(pod: PodRef): PodWorker {
    const found = this.#options.find(pod);
    if (found === undefined)
      throw new NodeError("NotFound", `pod ${pod.namespace}/${pod.name} is not on this node`);
    return found;
  }

  #network(): ServiceNetwork {
    const { network } = this.#options;
    if (network === undefined) {
      throw new NodeError(
        "Unsupported",
        "this machine has no nft to cut or delay traffic with: install nftables",
      );
    }
    return network;
  }
}

async function fill(directory: string, leaveBytes: number): Promise<void> {
  // The pod may have put a link there, and we write wherever it leads.
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
  const file = await open(join(directory, ballast), flags, 0o666);
  try {
    const chunk = Buffer.alloc(chunkBytes);
    for (;;) {
      const { bavail, bsize } = await statfs(directory);
      const room = bavail * bsize - leaveBytes;
      if (room <= 0) return;
      await file.write(chunk, 0, Math.min(room, chunk.length));
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    await file.close();
  }
}
