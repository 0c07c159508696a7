/** Makes the node known and keeps it known: its object, its status, and its lease. */

import type { Clock } from "@keelson/core";
import { type Cancel, formatMicroTime, formatTime, type JsonObject } from "@keelson/core";
import type { NodeStatus } from "@keelson/core/kinds";
import type { NodeApi } from "../api/api.ts";
import {
  describeMachine,
  hasChanged,
  type Machine,
  nodeLabels,
  nodeStatus,
  simulatedAnnotation,
} from "./node-status.ts";

export interface RegistrationOptions {
  readonly api: NodeApi;
  readonly clock: Clock;
  readonly name: string;
  readonly dataDirectory: string;
  /** In the cluster's network. */
  readonly address: string;
  /** Where the API server reaches the kubelet. */
  readonly reachableAs: string;
  readonly kubeletPort: number;
  readonly podCidr: string;
  readonly maxPods: number;
  readonly runtime: "sandbox" | "simulated";
  /** Why pods are simulated, when they are. */
  readonly simulated?: string;
  /** What is not enforced on pods, now. */
  readonly lacks: () => readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
  readonly images: () => Promise<
    readonly { readonly names: readonly string[]; readonly sizeBytes: number }[]
  >;
  readonly log: (message: string) => void;
}

const leaseSeconds = 40;
const renewMs = 10_000;
const statusMs = 10_000;
const fullReportMs = 300_000;
const leaseNamespace = "kube-node-lease";

export class NodeRegistration {
  readonly #options: RegistrationOptions;
  readonly #machine: Machine;
  readonly #timers: Cancel[] = [];
  #reported: NodeStatus | undefined;
  #reportedAt = 0;
  #uid = "";
  #ready = false;
  #stopped = false;
  #failures = 0;

  constructor(options: RegistrationOptions) {
    this.#options = options;
    this.#machine = describeMachine(options.name, options.dataDirectory);
  }

  get uid(): string {
    return this.#uid;
  }

  get machine(): Machine {
    return this.#machine;
  }

  /** Creates or adopts the node object. Heartbeats begin with `ready`. */
  async register(): Promise<void> {
    const { api, name, labels = {}, runtime, simulated, taints, podCidr } = this.#options;
    const wanted = { ...nodeLabels(name, runtime), ...labels };
    const annotations = { [simulatedAnnotation]: simulated ?? null };
    const found = await api.findNode(name);
    if (found === undefined) {
      const node = await api.createNode({
        metadata: {
          name,
          labels: wanted,
          ...(simulated === undefined ? {} : { annotations: { [simulatedAnnotation]: simulated } }),
        },
        spec: {
          podCIDR: podCidr,
          podCIDRs: [podCidr],
          ...(taints === undefined ? {} : { taints: taints.map((taint) => ({ ...taint })) as never }),
        },
        status: await this.#status(),
      });
      this.#uid = node.metadata.uid;
      return;
    }
    this.#uid = found.metadata.uid;
    this.#reported = found.status;
    const stale = Object.entries(wanted).some(([key, value]) => found.metadata.labels?.[key] !== value);
    const noted = found.metadata.annotations?.[simulatedAnnotation] ?? null;
    if (stale || noted !== annotations[simulatedAnnotation]) {
      await api.patchNode(name, { metadata: { labels: wanted, annotations } });
    }
  }

  /** The node takes pods from now on, and says so at least every ten seconds. */
  async ready(): Promise<void> {
    this.#ready = true;
    await Promise.all([this.#report(true), this.#renew()]);
    this.#every(renewMs, () => this.#renew());
    this.#every(statusMs, () => this.#report(false));
  }

  /** Sends the status again soon, as after an image arrived. */
  async changed(): Promise<void> {
    await this.#report(false);
  }

  stop(): void {
    this.#stopped = true;
    for (const cancel of this.#timers) cancel();
  }

  async #status(): Promise<NodeStatus> {
    const { clock, name, address, reachableAs, kubeletPort, maxPods, simulated, lacks } = this.#options;
    const images = (await this.#options.images()).slice(0, 50);
    return nodeStatus({
      ...{ machine: this.#machine, name, address, reachableAs, kubeletPort, maxPods, simulated, images },
      lacks: lacks(),
      ready: this.#ready,
      before: this.#reported,
      now: formatTime(clock.now()),
    });
  }

  async #report(force: boolean): Promise<void> {
    const { api, name, clock } = this.#options;
    const status = await this.#status();
    const due = clock.monotonic() - this.#reportedAt >= fullReportMs;
    if (!force && !due && !hasChanged(this.#reported, status)) return;
    // The address list merges by type on the server; it must be replaced as a whole to keep its order.
    const addresses = [{ $patch: "replace" }, ...(status.addresses ?? [])];
    await api.patchNodeStatus(name, {
      status: { ...status, addresses },
    } as unknown as JsonObject);
    this.#reported = status;
    this.#reportedAt = clock.monotonic();
  }

  async #renew(): Promise<void> {
    const { api, name, clock } = this.#options;
    const renewTime = formatMicroTime(clock.now());
    const found = await api.findLease(name);
    if (found !== undefined) {
      await api.updateLease({
        ...found,
        spec: { ...found.spec, holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime },
      });
      return;
    }
    await api.createLease({
      metadata: {
        name,
        namespace: leaseNamespace,
        ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid: this.#uid }],
      },
      spec: { holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime },
    });
  }

  #every(periodMs: number, run: () => Promise<void>): void {
    const tick = () => {
      run()
        .then(
          () => {
            this.#failures = 0;
          },
          (error: unknown) => {
            // Only the first of a series: an API server that is away for an hour must not fill the log.
            if (this.#failures++ === 0)
              this.#options.log(`cannot report to the API server: ${String(error)}`);
          },
        )
        .finally(() => {
          if (!this.#stopped) this.#timers.push(this.#options.clock.timer(periodMs, tick));
          if (this.#timers.length > 4) this.#timers.splice(0, this.#timers.length - 4);
        });
    };
    this.#timers.push(this.#options.clock.timer(periodMs, tick));
  }
}
