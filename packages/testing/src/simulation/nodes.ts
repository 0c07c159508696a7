/** The machines of a simulation: they lose power, lose their kubelet, are cordoned, relabelled, and come back. */
import { Node } from "@keelson/core/kinds";
import { type Later, type SimulationHost, timeOf } from "./host.ts";

/** A node whose pods are simulated. */
export interface SimulatedNode {
  readonly name: string;
  labels: Readonly<Record<string, string>>;
  /** Its processes run. */
  powered: boolean;
  /** Its kubelet speaks to the API server. */
  speaking: boolean;
  cordoned: boolean;
  /** Counts what it went through, so that a late consequence of an earlier loss is not taken for one of a later. */
  turns: number;
}

/** How long the control plane waits for a node that has fallen silent. */
const graceMs = 40_000;
/** How long pods stay on a node that is unreachable. */
const evictionMs = 300_000;

const capacity = { cpu: "8", memory: "32Gi", pods: "110" };

/** The simulated nodes of a cluster, which can fail and come back. */
export class SimulatedNodes {
  readonly all = new Map<string, SimulatedNode>();
  readonly #host: SimulationHost;
  readonly #later: Later;
  /** Its processes end, or may run again. */
  onPower: (node: SimulatedNode) => void = () => {};
  /** Its kubelet falls silent, or speaks again. */
  onSpeech: (node: SimulatedNode) => void = () => {};
  /** Pods may go to nodes where they could not go before. */
  onRoom: () => void = () => {};
  /** The control plane takes note that it is silent. */
  onUnknown: (node: SimulatedNode) => void = () => {};
  /** The control plane gives up on its pods. */
  onEviction: (node: SimulatedNode) => void = () => {};

  constructor(host: SimulationHost, later: Later) {
    this.#host = host;
    this.#later = later;
  }

  async start(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const labels = { "kubernetes.io/hostname": name, pool: "default" };
      this.all.set(name, { name, labels, powered: true, speaking: true, cordoned: false, turns: 0 });
      await this.#host.client.kind(Node).create({ metadata: { name, labels } });
      await this.#report(name, "True");
    }
  }

  /** From what the API server has, after a restart of the simulation. */
  resume(nodes: readonly SimulatedNode[]): void {
    for (const node of nodes) this.all.set(node.name, { ...node });
  }

  /** Loses power: what runs there is gone, and nobody there says so. */
  async lose(name: string): Promise<void> {
    const node = this.#get(name);
    node.powered = false;
    this.onPower(node);
    await this.silence(name);
  }

  /** The kubelet is cut off: what runs there runs on. */
  async silence(name: string): Promise<void> {
    const node = this.#get(name);
    if (!node.speaking) return;
    node.speaking = false;
    const turn = ++node.turns;
    this.#later.after(graceMs, async () => {
      if (node.turns !== turn) return;
      await this.#report(name, "Unknown");
      this.onUnknown(node);
      this.#later.after(evictionMs, () => {
        if (node.turns === turn) this.onEviction(node);
      });
    });
  }

  async restore(name: string): Promise<void> {
    const node = this.#get(name);
    if (node.powered && node.speaking) return;
    const reboot = !node.powered;
    node.turns++;
    node.powered = true;
    node.speaking = true;
    await this.#report(name, "True");
    if (reboot) this.onPower(node);
    this.onSpeech(node);
    this.onRoom();
  }

  async cordon(name: string, cordoned: boolean): Promise<void> {
    this.#get(name).cordoned = cordoned;
    const body = { spec: { unschedulable: cordoned || null } };
    await this.#host.client.kind(Node).patch({ name }, { type: "merge", body: body as never });
    this.onRoom();
  }

  async relabel(name: string, labels: Readonly<Record<string, string>>): Promise<void> {
    const node = this.#get(name);
    node.labels = { ...node.labels, ...labels };
    await this.#host.client.kind(Node).patch({ name }, { type: "merge", body: { metadata: { labels } } });
    this.onRoom();
  }

  #get(name: string): SimulatedNode {
    const node = this.all.get(name);
    if (!node) throw new Error(`there is no node ${name}`);
    return node;
  }

  async #report(name: string, status: "True" | "Unknown"): Promise<void> {
    const at = timeOf(this.#host);
    const ready = {
      type: "Ready",
      status,
      reason: status === "True" ? "KubeletReady" : "NodeStatusUnknown",
      message: status === "True" ? "simulated" : "Kubelet stopped posting node status.",
      lastTransitionTime: at,
      lastHeartbeatTime: at,
    };
    await this.#host.client
      .kind(Node)
      .subresource("status")
      .patch(
        { name },
        { type: "merge", body: { status: { capacity, allocatable: capacity, conditions: [ready] } } },
      );
  }
}
