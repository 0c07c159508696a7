/** `npm run bench:apiserver`: the embedded API server beside the real one with etcd, in one run, interleaved. */
import { availableParallelism, loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { locateKubernetes } from "@keelson/reference/locate";
import { commandLine } from "../../scripts/command-line.ts";
import { buildLoad, load, type Measured } from "./apiserver-load.ts";
import {
  install,
  post,
  type Server,
  startEmbedded,
  startInProcess,
  startReference,
} from "./apiserver-servers.ts";
import { median, table } from "./measure.ts";

const { rounds } = commandLine({
  command: "npm run bench:apiserver",
  does: "The embedded API server beside the real one with etcd, in one run, in turns.",
  options: { rounds: { number: "N", default: 3, help: "of each measurement" } },
});
const clients = 8;
const watchers = 100;
const listed = 3_000;
const definitions = 50;

const titles = {
  startMs: "start, ms",
  idleMb: "idle, MB",
  crdMb: "per CRD, MB",
  creates: "creates/s",
  gets: "gets/s",
  events: `events/s to ${watchers}`,
  lists: `lists of ${listed}/s`,
  gzipLists: "the same, gzip",
  createCpu: "create",
  getCpu: "get",
  eventCpu: "event",
  listCpu: "list",
};
type Figures = Record<keyof typeof titles, number>;

const reference = "kube-apiserver + etcd, durable";
const program = buildLoad();
using installed = install();
const servers: Record<string, () => Promise<Server>> = {
  "embedded, in memory": () => startEmbedded(installed.directory, false),
  "embedded, durable": () => startEmbedded(installed.directory, true),
};
if ("missing" in locateKubernetes())
  console.log("kube-apiserver is not built (npm run reference): measuring ours alone");
else servers[reference] = startReference;

// The first start fills Node's cache of compiled code, as the first start after an installation does.
await (await startEmbedded(installed.directory, false))[Symbol.asyncDispose]();
startInProcess(installed.directory);

const results = new Map<string, Figures[]>(Object.keys(servers).map((name) => [name, []]));
const inProcess: number[] = [];
const loads: number[] = [];
for (let round = 1; round <= rounds; round++) {
  for (const [name, start] of Object.entries(servers)) {
    process.stderr.write(`round ${round}: ${name}\n`);
    inProcess.push(startInProcess(installed.directory));
    loads.push(loadavg()[0] ?? 0);
    const crdMb = await definitionMb(start);
    await using server = await start();
    results.get(name)?.push({ ...(await figuresOf(server)), crdMb });
  }
}
report();

/** What one definition adds to a server that has done nothing else. */
async function definitionMb(start: () => Promise<Server>): Promise<number> {
  await using server = await start();
  await delay(2_000);
  const before = server.residentMb();
  for (let index = 0; index < definitions; index++)
    await post(server, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(index));
  await delay(3_000);
  return Math.max(0, server.residentMb() - before) / definitions;
}

async function figuresOf(server: Server): Promise<Omit<Figures, "crdMb">> {
  await delay(2_000);
  const idleMb = server.residentMb();
  await post(server, "/api/v1/namespaces", { metadata: { name: "bench" } });
  await post(server, "/api/v1/namespaces", { metadata: { name: "listed" } });
  const run = (name: Parameters<typeof load>[2], options: Parameters<typeof load>[3]) =>
    load(program, server, name, { clients, ...options });

  // The listed objects warm the server up: code that is compiled as it runs is slow at first.
  await run("create", { namespace: "listed", count: listed });
  const creates = await run("create", { count: 5_000 });
  await run("get", { count: 2_000, objects: 5_000 });
  const gets = await run("get", { count: 10_000, objects: 5_000 });
  await run("fanout", { prefix: "warm", count: 200, watchers });
  const events = await run("fanout", { prefix: "fan", count: 800, watchers });
  const lists = (options: Parameters<typeof load>[3]): Promise<Measured> =>
    run("list", { namespace: "listed", clients: 1, ...options });
  await lists({ count: 5 });
  const plain = await lists({ count: 30 });
  const gzip = await lists({ count: 30, gzip: true });

  return {
    startMs: server.startMs,
    idleMb,
    creates: creates.perSecond,
    gets: gets.perSecond,
    events: events.perSecond,
    lists: plain.perSecond,
    gzipLists: gzip.perSecond,
    createCpu: creates.cpuUs,
    getCpu: gets.cpuUs,
    eventCpu: events.cpuUs,
    listCpu: plain.cpuUs,
  };
}

function definition(index: number) {
  const plural = `widgets${index}`;
  const fields = Object.fromEntries(
    Array.from({ length: 30 }, (_, field) => [`field${field}`, { type: "string" }]),
  );
  const openAPIV3Schema = {
    type: "object",
    properties: { spec: { type: "object", properties: fields } },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.bench.keelson.dev` },
    spec: {
      group: "bench.keelson.dev",
      scope: "Namespaced",
      names: { plural, kind: `Widget${index}` },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}

function report(): void {
  const value = (name: string, column: keyof Figures) =>
    median((results.get(name) ?? []).map((figures) => figures[column]));
  const text = (number: number) =>
    number >= 100 ? String(Math.round(number)) : number.toFixed(number < 1 ? 2 : 1);
  const rows = (columns: readonly (keyof Figures)[]) =>
    [...results.keys()].map((name) => [name, ...columns.map((column) => text(value(name, column)))]);
  const heads = (columns: readonly (keyof Figures)[]) => columns.map((column) => titles[column]);
  const rates = ["startMs", "idleMb", "crdMb", "creates", "gets", "events", "lists", "gzipLists"] as const;
  const costs = ["createCpu", "getCpu", "eventCpu", "listCpu"] as const;
  const busy = `load average ${text(Math.min(...loads))} to ${text(Math.max(...loads))} before each`;
  console.log(
    `\nMedians of ${rounds} interleaved runs, ${clients} clients, ${availableParallelism()} processors, ${busy}, Node ${process.version}\n`,
  );
  console.log(table(["server", ...heads(rates)], rows(rates)));
  console.log(`\nProcessor time of the server for one of each, µs\n`);
  console.log(table(["server", ...heads(costs)], rows(costs)));
  console.log(`\nIn process, the first apiServer() of a process: ${text(median(inProcess))} ms`);
  if (!results.has(reference)) return;
  for (const name of results.keys()) {
    if (name === reference) continue;
    const times = (column: keyof Figures, inverse = false) => {
      const ratio = value(name, column) / value(reference, column);
      return `${(inverse ? 1 / ratio : ratio).toFixed(1)}×`;
    };
    console.log(
      `${name}, against the real one: creates ${times("creates")} (${times("createCpu", true)} by processor time), gets ${times("gets")}, events ${times("events")} (${times("eventCpu", true)}), lists ${times("lists")} (${times("listCpu", true)}), compressed lists ${times("gzipLists")}`,
    );
  }
}
