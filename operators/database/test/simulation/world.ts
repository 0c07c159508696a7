/** A simulated cluster of instances under virtual time: an API server, a network, pods, clients, and an oracle. */
import {
  type Claim,
  Conflict,
  Gone,
  type LeaseStore,
  type PeerStatus,
  type Peers,
  type Pods,
} from "../../src/agent/ports.ts";
import {
  defaultTimings,
  type LeaseRecord,
  type Policy,
  type StoredRecord,
  type Timings,
} from "../../src/ha/state.ts";
import { Chance, Timeline } from "./clock.ts";
import { Pod } from "./pod.ts";
import type { Entry, Surroundings } from "./server.ts";

export interface WorldOptions {
  readonly seed: number;
  readonly instances: number;
  readonly durability: Policy["durability"];
  readonly timings?: Partial<Timings>;
}

interface Acknowledged {
  readonly entry: Entry;
  readonly by: string;
  readonly epoch: number;
  readonly atMs: number;
}

const api = "api";

export class World implements Surroundings {
  readonly chance: Chance;
  readonly pods: readonly Pod[];
  readonly timings: Timings;
  readonly violations: string[] = [];
  readonly trace: string[] = [];
  readonly acknowledgements: Acknowledged[] = [];
  readonly #timeline = new Timeline();
  readonly #durability: Policy["durability"];
  /** `from>to` that do not arrive. */
  readonly #cuts = new Set<string>();
  readonly #complaints = new Map<string, string | undefined>();
  /** Instances that nobody reaches, though they reach everybody. */
  readonly deaf = new Set<string>();
  /** The last of each epoch. */
  readonly records: LeaseRecord[] = [];
  #record: LeaseRecord;
  #version = 1;
  #isApiUp = true;
  #commits = 0;
  #newestEpoch = 0;
  /** Who acknowledges in the newest epoch. Where the record was lost, an epoch that nobody knew of may come again. */
  #acknowledging: { readonly epoch: number; readonly by: string } | undefined;
  /** What the newest primary began with. */
  #inherited = new Set<Entry>();
  promotions = 0;

  constructor({ seed, instances, durability, timings }: WorldOptions) {
    this.chance = new Chance(seed);
    this.timings = { ...defaultTimings, ...timings };
    this.#durability = durability;
    const names = Array.from({ length: instances }, (_, index) => `db-${index}`);
    this.pods = names.map((name) => new Pod(this, name));
    const policy: Policy = {
      instances: names,
      durability,
      initialInstance: "db-0",
      parameters: {},
      maximumLagBytes: 1_000_000,
    };
    this.#record = { holder: "", holderUid: "", epoch: 0, renewTime: "", published: { quorums: [] }, policy };
    const stream = (pod: Pod) => {
      if (!pod.isFrozen) pod.server.stream();
      this.later(this.chance.between(3, 25), () => stream(pod));
    };
    for (const pod of this.pods) stream(pod);
    const write = () => {
      for (const pod of this.pods)
        if (!pod.isFrozen && pod.server.isPrimary) pod.server.commit({ id: ++this.#commits });
      this.later(this.chance.between(10, 120), write);
    };
    write();
  }

  get nowMs(): number {
    return this.#timeline.nowMs;
  }

  get record(): LeaseRecord {
    return this.#record;
  }

  readonly later = (delayMs: number, run: () => void): (() => void) => this.#timeline.at(delayMs, run);

  async advance(ms: number): Promise<void> {
    await this.#timeline.advance(ms);
  }

  pod(name: string): Pod {
    const found = this.pods.find((pod) => pod.name === name);
    if (!found) throw new Error(`there is no ${name}`);
    return found;
  }

  readonly log = (who: string, message: string, fields: object = {}): void => {
    const text = JSON.stringify(fields, (_, value: unknown) =>
      typeof value === "bigint" ? String(value) : value,
    );
    this.trace.push(`${(this.nowMs / 1_000).toFixed(3)} ${who} ${message} ${text}`);
  };

  // ------------------------------------------------------------------------------- faults

  cut(from: string, to: string): void {
    this.#cuts.add(`${from}>${to}`);
  }

  heal(): void {
    this.#cuts.clear();
    this.deaf.clear();
  }

  canTalk(a: string, b: string): boolean {
    return !this.deaf.has(b) && !this.#cuts.has(`${a}>${b}`) && !this.#cuts.has(`${b}>${a}`);
  }

  setApi(isUp: boolean): void {
    this.#isApiUp = isUp;
  }

  policy(change: Partial<Policy>): void {
    this.#record = { ...this.#record, policy: { ...this.#record.policy, ...change } };
    this.#version++;
  }

  /** The Lease is as it was at an earlier time; without one it is made again, and says only what the operator writes. */
  forgetRecord(earlier?: LeaseRecord): void {
    const blank: Omit<LeaseRecord, "policy"> = {
      holder: "",
      holderUid: "",
      epoch: 0,
      renewTime: "",
      published: { quorums: [] },
    };
    this.log("world", "FAULT the record is lost", { earlier: earlier?.epoch });
    const record = earlier ?? blank;
    this.#acknowledging = undefined;
    // The operator sees volumes.
    const found = this.pods.map(({ name }) => name).filter((name) => name !== "db-0");
    const isLost = record.published.systemId === undefined;
    this.#record = { ...record, policy: { ...this.#record.policy, ...(isLost && { found }) } };
    this.#version++;
  }

  // ------------------------------------------------------------------------------- the oracle

  acknowledged(entry: Entry, by: string, epoch: number): void {
    // What the newer primary has inherited may be acknowledged late: a sender that was frozen reads what it was told before.
    if (epoch < this.#newestEpoch && !this.#inherited.has(entry)) {
      this.violations.push(
        `${by} acknowledged ${entry.id} in epoch ${epoch} after epoch ${this.#newestEpoch} had begun to`,
      );
    }
    const other = this.#acknowledging;
    if (other?.epoch === epoch && other.by !== by)
      this.violations.push(`${by} acknowledged ${entry.id} in epoch ${epoch}, in which ${other.by} does`);
    if (epoch >= this.#newestEpoch) this.#acknowledging = { epoch, by };
    this.#newestEpoch = Math.max(this.#newestEpoch, epoch);
    this.acknowledgements.push({ entry, by, epoch, atMs: this.nowMs });
  }

  initialised(): void {}

  promoted(name: string, epoch: number, log: readonly Entry[]): void {
    this.promotions++;
    if (epoch === this.#record.epoch) this.#inherited = new Set(log);
    this.log(name, "promoted", { epoch, length: log.length });
    // One that was frozen in the middle may end a promotion that came to nothing: what it acknowledges is looked at.
    if (this.#durability !== "async" && epoch === this.#record.epoch) this.#expectAll(name, log);
  }

  started(name: string): void {
    this.log(name, "started", {});
  }

  #expectAll(name: string, log: readonly Entry[]): void {
    const there = new Set(log);
    const lost = this.acknowledgements.filter(({ entry }) => !there.has(entry));
    const [first] = lost;
    if (first) {
      this.violations.push(
        `${name} lacks ${lost.length} acknowledged commits; the first is ${first.entry.id} of ${first.by} in epoch ${first.epoch}`,
      );
    }
  }

  /** After everything was repaired and enough time has passed: one primary with all commits, and everybody follows it. */
  check(): void {
    const primaries = this.pods.filter(({ server }) => server.isPrimary);
    const [primary] = primaries;
    if (primaries.length !== 1 || !primary) {
      this.violations.push(`there are ${primaries.length} primaries at the end`);
      return;
    }
    if (this.#durability !== "async") this.#expectAll(primary.name, primary.server.data?.log ?? []);
    const idle = this.pods
      .filter((pod) => pod !== primary && !pod.server.isReceiving)
      .map(({ name }) => name);
    if (idle.length > 0) this.violations.push(`${idle.join(", ")} do not follow ${primary.name} at the end`);
    const before = this.acknowledgements.at(-1)?.atMs ?? 0;
    if (this.nowMs - before > 5_000) this.violations.push("no commit is acknowledged at the end");
  }

  // ------------------------------------------------------------------------------- the agents' world

  leaseFor(pod: Pod): LeaseStore {
    const stored = (): StoredRecord => ({ record: this.#record, version: String(this.#version) });
    return {
      read: async () => await this.#ask(pod, api, () => stored()),
      write: async (claim: Claim, version) =>
        await this.#ask(pod, api, () => {
          if (String(this.#version) !== version) throw new Conflict("the record has changed");
          if (claim.epoch > this.#record.epoch) this.records.push(this.#record);
          this.#record = { ...claim, policy: this.#record.policy };
          this.#version++;
          return stored();
        }),
    };
  }

  podsFor(pod: Pod): Pods {
    return {
      label: async () => await this.#ask(pod, api, () => undefined),
      complain: async (about) => await this.#ask(pod, api, () => void this.#complaints.set(pod.name, about)),
      complaints: async (names, about) =>
        await this.#ask(pod, api, () => names.filter((name) => this.#complaints.get(name) === about)),
      isGone: async (name, uid) => await this.#ask(pod, api, () => this.pod(name).uid !== uid),
    };
  }

  peersFor(pod: Pod): Peers {
    const ask = async <T>(name: string, question: (peer: NonNullable<Pod["agent"]>) => T | Promise<T>) =>
      await this.#ask(pod, name, () => {
        const { agent } = this.pod(name);
        if (!agent || this.pod(name).isRefusing) throw new Gone(`${name} refuses connections`);
        return question(agent);
      });
    return {
      status: async (name) => await ask<PeerStatus>(name, (agent) => agent.status()),
      vote: async (name, request) => await ask(name, (agent) => agent.answerVote(request)),
      failsafe: async (name, request) => await ask(name, (agent) => agent.keeper.failsafe(request)),
      nudge: async (name) => await ask(name, (agent) => void agent.nudge().catch(() => undefined)),
      checkpoint: async () => undefined,
      position: async (name) => await ask(name, () => this.pod(name).server.position()),
    };
  }

  /** A question and its answer over the network: either may be lost, and then nobody knows what happened. */
  async #ask<T>(from: Pod, to: string, question: () => T | Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const lost = () =>
      from.sleep(this.timings.requestTimeoutMs).then(() => reject(new Error(`${to} does not answer`)));
    void from.sleep(this.chance.between(0.5, 6)).then(() => {
      const isDown = to === api && !this.#isApiUp;
      if (isDown || this.deaf.has(to) || this.#cuts.has(`${from.name}>${to}`)) return void lost();
      const target = to === api ? undefined : this.pod(to);
      const run = async () => {
        try {
          const answer = await question();
          if (this.#cuts.has(`${to}>${from.name}`)) return void lost();
          await from.sleep(this.chance.between(0.5, 6));
          resolve(answer);
        } catch (error) {
          reject(error as Error);
        }
      };
      if (target?.isFrozen || target?.isStalled) {
        void lost();
        return;
      }
      void run();
    });
    // The instance that is asked may die before it answers.
    const untilMs = to === api ? this.timings.requestTimeoutMs : 5_000;
    void from.sleep(untilMs).then(() => reject(new Error(`${to} took too long`)));
    return await promise;
  }
}
