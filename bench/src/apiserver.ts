/** `npm run bench:apiserver`: the embedded API server beside the real one with etcd, in one run, interleaved. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Client, connect } from "@keelson/client";
import { ConfigMap, CustomResourceDefinition, Namespace } from "@keelson/core/kinds";
import { startControlPlane } from "@keelson/reference/control-plane";
import { locateKubernetes } from "@keelson/reference/locate";
import { median, perSecond, table } from "./measure.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 3);
const WRITES = 2_000;
const CLIENTS = 8;
const WATCHERS = 100;
const FANOUT_WRITES = 50;
const LISTED = 3_000;

interface Server extends AsyncDisposable {
  readonly client: Client;
  readonly startMs: number;
  readonly pids: readonly number[];
}

type Figures = Record<"startMs" | "idleMb" | "crdMb" | "creates" | "gets" | "fanout" | "listsOf3000", number>;

const servers: Record<string, () => Promise<Server>> = {
  "embedded, in memory": () => embedded(false),
  "embedded, durable": () => embedded(true),
};
if ("missing" in locateKubernetes())
  console.log("kube-apiserver is not built (npm run reference): measuring ours alone");
else servers["kube-apiserver + etcd, durable"] = reference;

const results = new Map<string, Figures[]>(Object.keys(servers).map((name) => [name, []]));
for (let round = 1; round <= ROUNDS; round++) {
  for (const [name, start] of Object.entries(servers)) {
    process.stderr.write(`round ${round}: ${name}\n`);
    await using server = await start();
    results.get(name)?.push(await figuresOf(server));
  }
}
const columns = ["startMs", "idleMb", "crdMb", "creates", "gets", "fanout", "listsOf3000"] as const;
const titles = [
  "start, ms",
  "idle, MB",
  "per CRD, MB",
  "creates/s",
  "gets/s",
  "events/s to 100",
  "lists of 3000/s",
];
const rows = [...results].map(([name, runs]) => [
  name,
  ...columns.map((column) => {
    const value = median(runs.map((run) => run[column]));
    return value >= 100 ? String(Math.round(value)) : value.toFixed(value < 1 ? 2 : 1);
  }),
]);
console.log(
  `\nMedians of ${ROUNDS} interleaved runs, ${CLIENTS} clients, one machine, Node ${process.version}\n`,
);
console.log(table(["server", ...titles], rows));
process.exit(0);

async function figuresOf(server: Server): Promise<Figures> {
  const { client, pids, startMs } = server;
  const idleMb = rssMb(pids);
  await client.kind(Namespace).create({ metadata: { name: "bench" } });
  const maps = client.kind(ConfigMap);
  const body = (index: number) => ({
    metadata: { namespace: "bench", name: `c-${index}`, labels: { bench: "yes" } },
    data: { text: "x".repeat(1_000) },
  });
  await perSecond(200, CLIENTS, (index) =>
    maps.create({ ...body(index), metadata: { ...body(index).metadata, name: `warm-${index}` } }),
  );
  const creates = await perSecond(WRITES, CLIENTS, (index) => maps.create(body(index)));
  const gets = await perSecond(WRITES, CLIENTS, (index) =>
    maps.get({ namespace: "bench", name: `c-${index}` }),
  );
  const fanout = await fanOut(client);
  await perSecond(LISTED - WRITES - 200, CLIENTS, (index) => maps.create(body(WRITES + index)));
  const listsOf3000 = await perSecond(10, 1, () => maps.list({ namespace: "bench" }));
  const before = rssMb(pids);
  for (let index = 0; index < 20; index++)
    await client.kind(CustomResourceDefinition).create(definition(index));
  const crdMb = Math.max(0, rssMb(pids) - before) / 20;
  return { startMs, idleMb, crdMb, creates, gets, fanout, listsOf3000 };
}

/** Events per second that reach 100 watchers together. */
async function fanOut(client: Client): Promise<number> {
  const maps = client.kind(ConfigMap);
  const abort = new AbortController();
  const { resourceVersion } = await maps.list({ namespace: "bench", limit: 1 });
  let received = 0;
  const { promise: all, resolve } = Promise.withResolvers<void>();
  const watchers = Array.from({ length: WATCHERS }, async () => {
    for await (const event of maps.watch({ namespace: "bench", resourceVersion, signal: abort.signal })) {
      if (event.type === "added" && ++received === WATCHERS * FANOUT_WRITES) resolve();
    }
  });
  await new Promise((settled) => setTimeout(settled, 500));
  const began = performance.now();
  for (let index = 0; index < FANOUT_WRITES; index++) {
    await maps.create({
      metadata: { namespace: "bench", name: `fan-${index}` },
      data: { text: "x".repeat(1_000) },
    });
  }
  await all;
  const rate = received / ((performance.now() - began) / 1000);
  abort.abort();
  await Promise.allSettled(watchers);
  for (let index = 0; index < FANOUT_WRITES; index++)
    await maps.delete({ namespace: "bench", name: `fan-${index}` });
  return rate;
}

function definition(index: number) {
  const plural = `widgets${index}`;
  const fields = Object.fromEntries(
    Array.from({ length: 30 }, (_, field) => [`field${field}`, { type: "string" }]),
  );
  return {
    metadata: { name: `${plural}.bench.keelson.dev` },
    spec: {
      group: "bench.keelson.dev",
      scope: "Namespaced" as const,
      names: { plural, kind: `Widget${index}` },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: fields } } },
          },
        },
      ],
    },
  };
}

async function embedded(durable: boolean): Promise<Server> {
  const directory = await mkdtemp(join(tmpdir(), "keelson-bench-"));
  const began = performance.now();
  const args = [
    "apiserver",
    "--port",
    "0",
    "--token",
    "bench",
    "--kubeconfig",
    join(directory, "kubeconfig"),
  ];
  const bin = join(import.meta.dirname, "../../packages/keelson/bin/keelson.js");
  const child = spawn(
    process.execPath,
    [bin, ...args, ...(durable ? ["--data-dir", join(directory, "data")] : [])],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  for await (const line of createInterface(child.stdout)) if (line.startsWith("https://")) break;
  const client = await connect({ kubeconfig: join(directory, "kubeconfig") });
  await client.raw({ path: "/version" });
  const startMs = performance.now() - began;
  return {
    client,
    startMs,
    pids: [child.pid ?? 0],
    async [Symbol.asyncDispose]() {
      await client.close();
      child.kill("SIGKILL");
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function reference(): Promise<Server> {
  const began = performance.now();
  const plane = await startControlPlane({ durable: true });
  const client = await connect({ kubeconfig: plane.kubeconfig });
  await client.raw({ path: "/version" });
  return {
    client,
    startMs: performance.now() - began,
    pids: [...plane.pids.values()],
    async [Symbol.asyncDispose]() {
      await client.close();
      await plane[Symbol.asyncDispose]();
    },
  };
}

function rssMb(pids: readonly number[]): number {
  const kib = pids.map((pid) =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0),
  );
  return kib.reduce((sum, each) => sum + each, 0) / 1024;
}
