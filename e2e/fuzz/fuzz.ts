/** One run: several clients send what a seed decides, until the time is over. */
import { setTimeout as delay } from "node:timers/promises";
import { faultOf } from "./judge.ts";
import { Chance } from "./random.ts";
import { type FuzzRequest, inProtobuf, Memory, randomRequest } from "./requests.ts";
import { type FuzzedServer, type Reply, Sender } from "./server.ts";
import { readTargets, type Target } from "./targets.ts";

export interface FuzzOptions {
  readonly start: () => Promise<FuzzedServer>;
  /** The run ends after so long, or so many requests. */
  readonly durationMs: number;
  readonly maxRequests?: number;
  readonly seed: number;
  readonly clients: number;
  readonly say: (line: string) => void;
}

export interface FuzzResult {
  readonly requests: number;
  readonly targets: number;
  readonly statuses: ReadonlyMap<number, number>;
  readonly warmMb: number;
  readonly endMb: number;
  readonly faults: readonly Fault[];
}

interface Fault {
  readonly fault: string;
  count: number;
  readonly example: string;
}

/** Memory may grow by so much after the first third of the run: caches fill, and the heap breathes. */
const growthMb = 250;
const reportMs = 15_000;

export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const { durationMs, maxRequests = Number.POSITIVE_INFINITY, seed, clients } = options;
  await using server = await options.start();
  using sender = new Sender(server);
  const targets = await readTargets((path) => sender.json(path));
  const run = new Run(server, sender, targets);
  await prepare(sender);
  const endsAt = performance.now() + durationMs;
  const isOver = () =>
    performance.now() >= endsAt || run.requests >= maxRequests || server.ended !== undefined;
  const over = new AbortController();
  const reports = report(run, server, options.say, over.signal);
  const warm = delay(durationMs / 3, undefined, { signal: over.signal }).then(
    async () => {
      await clean(sender, targets);
      return server.residentMb();
    },
    () => undefined,
  );
  await Promise.all(
    Array.from({ length: clients }, async (_, index) => {
      const chance = new Chance(seed * 1000 + index);
      while (!isOver()) await run.step(chance);
    }),
  );
  over.abort();
  await reports;
  const warmMb = await warm;
  if (server.ended !== undefined) run.note(server.ended, server.takeSaid().slice(-2000));
  else await clean(sender, targets);
  const endMb = server.ended === undefined ? server.residentMb() : 0;
  if (warmMb !== undefined && endMb > warmMb + growthMb)
    run.note("memory grows", `from ${warmMb.toFixed(0)} MB to ${endMb.toFixed(0)} MB`);
  return { ...run.result(), targets: targets.length, warmMb: warmMb ?? 0, endMb };
}

class Run {
  readonly #server: FuzzedServer;
  readonly #sender: Sender;
  readonly #targets: readonly Target[];
  readonly #memory = new Memory();
  readonly #statuses = new Map<number, number>();
  readonly #faults = new Map<string, Fault>();
  requests = 0;

  constructor(server: FuzzedServer, sender: Sender, targets: readonly Target[]) {
    this.#server = server;
    this.#sender = sender;
    this.#targets = targets;
  }

  async step(chance: Chance): Promise<void> {
    const request = randomRequest(this.#targets, this.#memory, chance);
    this.requests++;
    let reply: Reply;
    try {
      reply = await this.#sender.send(request);
    } catch (error) {
      if (this.#server.ended === undefined)
        this.note(`no answer: ${(error as Error).message}`, shown(request));
      return;
    }
    this.#statuses.set(reply.status, (this.#statuses.get(reply.status) ?? 0) + 1);
    const fault = faultOf(request, reply);
    if (fault !== undefined)
      this.note(fault, `${shown(request)}\n  ${this.#server.takeSaid().slice(0, 1500)}`);
    else if (reply.status < 300) this.#remember(reply);
  }

  #remember({ type, body }: Reply): void {
    if (body.length > 100_000) return;
    if (type === "application/vnd.kubernetes.protobuf") {
      // The envelope begins with the kind's group and version, and its name.
      const kind = /([A-Z]\w+)/.exec(body.subarray(0, 80).toString("latin1"))?.[1];
      if (kind) this.#memory.keep(inProtobuf(kind), body);
    } else if (type === "application/json") {
      const object = jsonIn(body) as { kind?: unknown } | undefined;
      if (typeof object?.kind === "string") this.#memory.keep(object.kind, object);
    }
  }

  /** Faults that differ in names and numbers alone are one. */
  note(fault: string, example: string): void {
    const key = fault
      .replace(/"[^"]*"/g, "…")
      .replace(/\d+/g, "0")
      .slice(0, 160);
    const known = this.#faults.get(key);
    if (known) known.count++;
    else this.#faults.set(key, { fault, count: 1, example });
  }

  result() {
    return { requests: this.requests, statuses: this.#statuses, faults: [...this.#faults.values()] };
  }
}

/** Undefined for what is no single value: the lines of a watch, or what is compressed. */
function jsonIn(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

function shown({ method, path, headers, body }: FuzzRequest): string {
  const text = body && Buffer.from(body).toString("latin1");
  return `${method} ${path} ${JSON.stringify(headers)} ${text === undefined ? "" : JSON.stringify(text.slice(0, 2000))}`;
}

/** The namespaces that requests name. */
async function prepare(sender: Sender): Promise<void> {
  for (const name of ["a", "b", "c"])
    await sender.send({
      method: "POST",
      path: "/api/v1/namespaces",
      headers: { "content-type": "application/json" },
      body: Buffer.from(JSON.stringify({ metadata: { name } })),
    });
}

/** Deletes what has piled up, so that what remains of the memory is not the objects'. */
async function clean(sender: Sender, targets: readonly Target[]): Promise<void> {
  const kept = /namespaces$|apiservices|prioritylevel|flowschema|clusterrole|customresourcedefinitions/;
  for (const { path, method } of targets) {
    if (method !== "DELETE" || /\{name\}|\{path\}/.test(path) || kept.test(path)) continue;
    for (const namespace of path.includes("{namespace}") ? ["a", "b", "c", "default", "kube-system"] : [""])
      await sender
        .send({ method: "DELETE", path: path.replace("{namespace}", namespace), headers: {} })
        .catch(() => undefined);
  }
}

async function report(
  run: Run,
  server: FuzzedServer,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const began = performance.now();
  for (;;) {
    try {
      await delay(reportMs, undefined, { signal });
    } catch {
      return;
    }
    if (server.ended !== undefined) return;
    const seconds = Math.round((performance.now() - began) / 1000);
    const { faults } = run.result();
    say(
      `${seconds} s: ${run.requests} requests, ${server.residentMb().toFixed(0)} MB, ${faults.length} faults`,
    );
  }
}
