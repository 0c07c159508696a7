/** What nodes and pods use, from two looks at the kubelets' counters. */
import { type Clock, type JsonObject, parseJson } from "@keelson/core";
import type { StoreReader } from "../contracts/store.ts";
import { kubeletOf } from "../proxy/destinations.ts";
import type { ProxyTransport } from "../proxy/transport.ts";

/** Cores and bytes. */
export interface Usage {
  readonly cores: number;
  readonly bytes: number;
}

export interface PodUsage {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly containers: ReadonlyMap<string, Usage>;
}

export interface NodeUsage extends Usage {
  readonly name: string;
}

/** The usage between two looks. */
export interface UsageReport {
  readonly atMs: number;
  readonly windowMs: number;
  readonly nodes: readonly NodeUsage[];
  readonly pods: readonly PodUsage[];
}

interface Figures {
  readonly cpu?: { readonly usageCoreNanoSeconds?: number };
  readonly memory?: { readonly workingSetBytes?: number };
}

/** What a kubelet tells at `/stats/summary`, as far as it is read. */
export interface Summary {
  readonly node: Figures & { readonly nodeName: string };
  readonly pods: readonly {
    readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
    readonly containers?: readonly (Figures & { readonly name: string })[];
  }[];
}

export interface Look {
  readonly atMs: number;
  readonly summaries: readonly Summary[];
}

/** Cores used between the looks. What was not there before has no usage yet, and neither has a container that began again. */
export function usageBetween(before: Look, after: Look): UsageReport {
  const windowMs = after.atMs - before.atMs;
  const counters = new Map<string, number>();
  const nanoseconds = ({ cpu }: Figures) => cpu?.usageCoreNanoSeconds ?? 0;
  for (const { node, pods } of before.summaries) {
    counters.set(node.nodeName, nanoseconds(node));
    for (const { podRef, containers = [] } of pods)
      for (const container of containers)
        counters.set(`${podRef.uid}/${container.name}`, nanoseconds(container));
  }
  const usage = (id: string, figures: Figures): Usage | undefined => {
    const counter = counters.get(id);
    const bytes = figures.memory?.workingSetBytes ?? 0;
    if (counter === undefined || nanoseconds(figures) < counter || windowMs <= 0) return undefined;
    return { cores: (nanoseconds(figures) - counter) / (windowMs * 1e6), bytes };
  };
  const pods = after.summaries.flatMap((summary) =>
    summary.pods.flatMap(({ podRef, containers = [] }): PodUsage[] => {
      const used = new Map<string, Usage>();
      for (const container of containers) {
        const found = usage(`${podRef.uid}/${container.name}`, container);
        if (found) used.set(container.name, found);
      }
      // A pod of which a part is not known yet would look smaller than it is.
      return used.size > 0 && used.size === containers.length ? [{ ...podRef, containers: used }] : [];
    }),
  );
  const nodes = after.summaries.flatMap(({ node }): NodeUsage[] => {
    const counter = counters.get(node.nodeName);
    if (counter === undefined || windowMs <= 0) return [];
    // Counters of pods that ended are gone from the sum.
    const cores = Math.max(0, nanoseconds(node) - counter) / (windowMs * 1e6);
    return [{ name: node.nodeName, cores, bytes: node.memory?.workingSetBytes ?? 0 }];
  });
  return { atMs: after.atMs, windowMs, nodes, pods };
}

/** A report is made of looks that are at least this far apart. */
const leastWindowMs = 1_000;
/** A look that is older says little of now. */
const mostWindowMs = 60_000;
/** Within this time the last report does. */
const freshMs = 5_000;
const answerMs = 5_000;

export interface UsageMeterParts {
  readonly store: StoreReader;
  readonly transport: ProxyTransport;
  readonly clock: Clock;
}

/** Looks when it is asked: a cluster in which nobody asks pays nothing. */
export class UsageMeter {
  readonly #parts: UsageMeterParts;
  #last: Look | undefined;
  #report: UsageReport | undefined;
  #looking: Promise<UsageReport> | undefined;

  constructor(parts: UsageMeterParts) {
    this.#parts = parts;
  }

  /** Takes a second when nobody has asked for a while. */
  async usage(): Promise<UsageReport> {
    const now = this.#parts.clock.now();
    if (this.#report && now - this.#report.atMs < freshMs) return this.#report;
    this.#looking ??= this.#measure().finally(() => {
      this.#looking = undefined;
    });
    return await this.#looking;
  }

  async #measure(): Promise<UsageReport> {
    const { clock } = this.#parts;
    let before = this.#last;
    const age = before ? clock.now() - before.atMs : Number.POSITIVE_INFINITY;
    if (!before || age > mostWindowMs) {
      before = await this.#look();
      await new Promise<void>((resolve) => clock.timer(leastWindowMs, resolve));
    }
    const after = await this.#look();
    this.#last = after;
    this.#report = usageBetween(before, after);
    return this.#report;
  }

  async #look(): Promise<Look> {
    const { store, clock } = this.#parts;
    const names = store.list({ group: "", resource: "nodes" }).map(({ metadata }) => metadata.name);
    // A node that does not answer has no usage; the others have.
    const found = await Promise.all(names.map((name) => this.#summary(name).catch(() => undefined)));
    return { atMs: clock.now(), summaries: found.filter((summary) => summary !== undefined) };
  }

  async #summary(node: string): Promise<Summary> {
    const { store, transport } = this.#parts;
    const to = kubeletOf(store, node, "nodes");
    const signal = AbortSignal.timeout(answerMs);
    const answer = await transport.request(to, {
      method: "GET",
      path: "/stats/summary",
      headers: {},
      signal,
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of answer.body) chunks.push(chunk);
    if (answer.status !== 200) throw new Error(`the kubelet of ${node} answers ${answer.status}`);
    const summary = parseJson(Buffer.concat(chunks).toString()) as JsonObject as unknown as Summary;
    return { node: { ...summary.node, nodeName: node }, pods: summary.pods ?? [] };
  }
}
