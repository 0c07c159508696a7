/** `npm run bench:hostile`: what one client's requests cost the others, beside the real server, in one run. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { connect, type TLSSocket } from "node:tls";
import { Worker } from "node:worker_threads";
import { locateKubernetes } from "@keelson/reference/locate";
import { ApiTarget } from "../../e2e/attack/api-target.ts";
import { hostileRequests } from "../../e2e/attack/hostile.ts";
import { commandLine } from "../../scripts/command-line.ts";
import { install, post, type Server, startEmbedded, startReference } from "./apiserver-servers.ts";
import type { ProbeData } from "./hostile-probe.ts";
import { median, table } from "./measure.ts";

const { rounds } = commandLine({
  command: "npm run bench:hostile",
  does: "What the requests of one client cost the others, beside the real API server, in one run.",
  options: { rounds: { number: "N", default: 3, help: "of each measurement" } },
});
const hostileClients = 8;
const besideMs = 15_000;
const watchers = 1_000;
const events = 100;
const eventBytes = 4_096;
const settleMs = 3_000;

interface Figures {
  /** Longest answer to /healthz while each hostile request was worked on alone, by the request's id. */
  readonly alone: ReadonlyMap<string, number>;
  /** Answers to /healthz beside eight clients that send all of them in turn. */
  readonly besideP99: number;
  readonly besideMax: number;
  /** What 1,000 watchers, half of which never read, add to the server's memory. */
  readonly watchersMb: number;
}

using installed = install();
const ours = "embedded";
const real = "kube-apiserver + etcd";
const servers: Record<string, () => Promise<Server>> = {
  [ours]: () => startEmbedded(installed.directory, true),
};
if ("missing" in locateKubernetes())
  console.log("kube-apiserver is not built (npm run reference): measuring ours alone");
else servers[real] = startReference;

const results = new Map<string, Figures[]>(Object.keys(servers).map((name) => [name, []]));
for (let round = 1; round <= rounds; round++) {
  for (const [name, start] of Object.entries(servers)) {
    process.stderr.write(`round ${round}: ${name}\n`);
    results.get(name)?.push(await figuresOf(start));
  }
}
report();

async function figuresOf(start: () => Promise<Server>): Promise<Figures> {
  const watchersMb = await memoryOfWatchers(start);
  await using server = await start();
  const target = new ApiTarget(`https://${server.address}`, server.token);
  await using health = await startProbe(server);
  // Code that is compiled as it runs is slow at first.
  await health.during(() => delay(1_000));
  const alone = new Map<string, number>();
  for (const { id, path, asked, before = [] } of hostileRequests) {
    for (const [where, body] of before) await target.ask(where, { method: "POST", body });
    const waits = await health.during(() =>
      target.ask(path, { withinMs: 90_000, ...asked }).catch(() => undefined),
    );
    alone.set(id, Math.max(...waits));
  }
  const until = performance.now() + besideMs;
  const attack = async (first: number) => {
    for (let index = first; performance.now() < until; index++) {
      const { path, asked } = hostileRequests[index % hostileRequests.length] ?? { path: "/", asked: {} };
      await target.ask(path, { withinMs: 90_000, ...asked }).catch(() => undefined);
    }
  };
  const beside = await health.during(() =>
    Promise.all(Array.from({ length: hostileClients }, (_, index) => attack(index * 5))),
  );
  const sorted = beside.sort((a, b) => a - b);
  return {
    alone,
    besideP99: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN,
    besideMax: sorted.at(-1) ?? Number.NaN,
    watchersMb,
  };
}

interface Probe extends AsyncDisposable {
  /** How long answers took while the work was done, the one under way at its end included. */
  during(work: () => Promise<unknown>): Promise<number[]>;
}

async function startProbe({ address, token, caFile }: Server): Promise<Probe> {
  const workerData: ProbeData = { address, token, caFile };
  const worker = new Worker(new URL("./hostile-probe.ts", import.meta.url), { workerData });
  await once(worker, "online");
  return {
    async during(work) {
      worker.postMessage("begin");
      await work();
      const waits = once(worker, "message");
      worker.postMessage("end");
      return (await waits)[0] as number[];
    },
    async [Symbol.asyncDispose]() {
      await worker.terminate();
    },
  };
}

async function memoryOfWatchers(start: () => Promise<Server>): Promise<number> {
  await using server = await start();
  await post(server, "/api/v1/namespaces", { metadata: { name: "watched" } });
  await delay(settleMs);
  const before = server.residentMb();
  const sockets: TLSSocket[] = [];
  for (let index = 0; index < watchers; index++) sockets.push(await watch(server, index % 2 === 0));
  for (let index = 0; index < events; index++) {
    await post(server, "/api/v1/namespaces/watched/configmaps", {
      metadata: { name: `event-${index}` },
      data: { text: "x".repeat(eventBytes) },
    });
  }
  await delay(settleMs);
  const after = server.residentMb();
  for (const socket of sockets) socket.destroy();
  return after - before;
}

/** A watch on a connection of its own; one that does not read takes nothing from its socket after the head. */
async function watch({ address, token, caFile }: Server, reads: boolean): Promise<TLSSocket> {
  const [host = "", port = ""] = address.split(":");
  const socket = connect({ host, port: Number(port), ca: readFileSync(caFile) });
  await once(socket, "secureConnect");
  socket.on("error", () => undefined);
  socket.write(
    `GET /api/v1/namespaces/watched/configmaps?watch=1 HTTP/1.1\r\nhost: ${address}\r\nauthorization: Bearer ${token}\r\n\r\n`,
  );
  if (reads) socket.resume();
  return socket;
}

function report(): void {
  const of = (name: string, read: (figures: Figures) => number) =>
    median((results.get(name) ?? []).map(read));
  const names = Object.keys(servers);
  const row = (title: string, read: (figures: Figures) => number, unit: string) => {
    const values = names.map((name) => of(name, read));
    const [first = Number.NaN, second] = values;
    return [
      title,
      ...values.map((value) => `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`),
      ...(second === undefined ? [] : [`${(first / second).toFixed(2)}×`]),
    ];
  };
  const ids = hostileRequests.map(({ id }) => id);
  const byWait = ids.sort(
    (a, b) => of(ours, (f) => f.alone.get(b) ?? 0) - of(ours, (f) => f.alone.get(a) ?? 0),
  );
  const rows = [
    row("longest wait beside any single hostile request", (f) => Math.max(...f.alone.values()), "ms"),
    row(`/healthz beside ${hostileClients} hostile clients, p99`, (f) => f.besideP99, "ms"),
    row(`/healthz beside ${hostileClients} hostile clients, longest`, (f) => f.besideMax, "ms"),
    row(`${watchers} watchers, half of which never read: memory`, (f) => f.watchersMb, "MB"),
    ...byWait.slice(0, 5).map((id) => row(`wait beside: ${id}`, (f) => f.alone.get(id) ?? Number.NaN, "ms")),
  ];
  const ratio = names.length > 1 ? ["ratio"] : [];
  console.log(table(["", ...names, ...ratio], rows));
}
