/** One cluster of etcd under load, on which a row of the table is measured. */
import { setTimeout as sleep } from "node:timers/promises";
import type { EtcdClusterObject } from "@keelson/etcd-operator";
import type { LedgerSummary } from "@keelson/kit/testing";
import { eventually } from "../operator/eventually.ts";
import { namespace } from "./cluster-access.ts";
import type { EtcdLoad } from "./load.ts";
import type { World } from "./world.ts";

type Spec = EtcdClusterObject["spec"];

/** What one run showed. */
export interface Run {
  /** Durations in milliseconds, by what they are of. */
  readonly figures: Readonly<Record<string, number>>;
  /** Numbers of things, by what they are. */
  readonly counts?: Readonly<Record<string, number>>;
  /** What the goal demands and this run did not do, as sentences. */
  readonly missed: readonly string[];
}

export interface Scenario {
  /** For `--only`. */
  readonly id: string;
  readonly fault: string;
  readonly goal: string;
  readonly runs: number;
  readonly size: number;
  /** What the cluster's spec has beside size and version. */
  readonly spec?: Partial<Spec>;
  /** Only with these versions of etcd. Default: all of them. */
  readonly versions?: readonly string[];
  /** A cluster of its own for every run: the runs leave it in another state than they found it. */
  readonly fresh?: boolean;
  /** What the control plane must have before the cluster is made. */
  readonly before?: (world: World) => Promise<void>;
  /** Before the first and after the last run on a cluster. */
  readonly prepare?: (bench: Bench) => Promise<void>;
  readonly conclude?: (bench: Bench) => Promise<void>;
  readonly run: (bench: Bench, nth: number) => Promise<Run>;
}

export class Bench {
  readonly world: World;
  readonly name: string;
  readonly version: string;
  readonly load: EtcdLoad;

  constructor(world: World, { name, version }: { readonly name: string; readonly version: string }) {
    this.world = world;
    this.name = name;
    this.version = version;
    this.load = world.load(name);
  }

  /** Another one of that role at every run, where there are several. */
  async member(role: "Leader" | "Follower", nth = 0): Promise<string> {
    const { status } = await this.world.get(this.name);
    const found = status?.members?.filter((member) => member.role === role) ?? [];
    const chosen = found[nth % Math.max(1, found.length)];
    if (!chosen) throw new Error(`${this.name} has no ${role.toLowerCase()}`);
    return chosen.name;
  }

  /**
   * A member in a pod whose container was started again so many times: Kubernetes lets the second restart wait for ten
   * seconds, and longer every time, so runs that are to be compared begin alike.
   */
  async restarted(role: "Leader" | "Follower", times: number): Promise<string> {
    for (;;) {
      const name = await this.member(role);
      const pod = await this.world.pod(name);
      const restarts = pod?.status?.containerStatuses?.[0]?.restartCount ?? 0;
      if (restarts === times) return name;
      const before = await this.incarnations();
      await (restarts < times ? this.kill(name) : this.world.deletePod(name));
      await this.time(`${name} is back`, 60_000, async () => {
        const now = await this.incarnations();
        return now.some((each) => !before.includes(each)) && (await this.isReady());
      });
      await this.settle();
    }
  }

  async kill(name: string): Promise<void> {
    await this.world.inject({ kind: "kill", pod: this.pod(name) });
  }

  async members(): Promise<readonly string[]> {
    const { status } = await this.world.get(this.name);
    return (status?.members ?? []).map(({ name }) => name);
  }

  async ids(): Promise<string> {
    const { status } = await this.world.get(this.name);
    return (status?.members ?? []).map(({ id }) => id).join();
  }

  async incarnations(): Promise<readonly string[]> {
    return await this.world.incarnations(this.name);
  }

  async isReady(size = 3): Promise<boolean> {
    return await this.world.isReady(this.name, size);
  }

  async ready(size: number, withinMs: number): Promise<void> {
    await this.world.whenReady(this.name, size, withinMs);
  }

  /** A change that restarts no member: when it is observed, the operator works. */
  async touch(): Promise<void> {
    const { recovery } = (await this.world.get(this.name)).spec;
    const nodeLossTimeoutSeconds = recovery.nodeLossTimeoutSeconds + 1;
    await this.world.change(this.name, { recovery: { nodeLossTimeoutSeconds } });
  }

  /** Waits until something holds, and says how long that took. */
  async time(what: string, withinMs: number, condition: () => Promise<boolean>): Promise<number> {
    const since = performance.now();
    await eventually(what, withinMs, condition, async () => await this.world.told(this.name));
    return performance.now() - since;
  }

  /** etcd counts a peer as connected after five seconds: no run begins before that. */
  async settle(): Promise<void> {
    await sleep(5_000);
  }

  pod(name: string): { namespace: string; name: string } {
    return { namespace, name };
  }
}

/** Writes that no retry brought through, and what became of them. */
export function failures({ failed, errors }: LedgerSummary): string[] {
  return failed > 0 ? [`${failed} writes failed in spite of retries (${errors.slice(0, 3).join("; ")})`] : [];
}

/** Compares figures with their limits; the sentences are for the one who reads a failed run. */
export function over(
  figures: Readonly<Record<string, number>>,
  limits: Readonly<Record<string, number>>,
): string[] {
  return Object.entries(limits).flatMap(([name, limit]) => {
    const value = figures[name];
    return value !== undefined && value > limit
      ? [`${name} ${(value / 1_000).toFixed(2)} s, more than ${limit / 1_000} s`]
      : [];
  });
}
