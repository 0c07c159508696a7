/** The embedded cluster with many pods: time until Ready, memory, and what it costs when idle. `npm run bench:cluster` */
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, connect } from "@keelson/client";
import { type ClusterRecord, clusterDown, clusterUp } from "@keelson/cluster/up";
import { Deployment, Node, Pod } from "@keelson/core/kinds";
import { commandLine } from "../../scripts/command-line.ts";
import { table } from "./measure.ts";

const values = commandLine({
  command: "npm run bench:cluster",
  does: "The embedded cluster with many pods: time until Ready, memory, and what it costs when idle.",
  options: { idle: { number: "SECONDS", default: 20, help: "how long it is watched while nothing changes" } },
});
const idleSeconds = values.idle;
const ticksPerSecond = 100;
const kib = 1024;

interface Load {
  readonly what: string;
  readonly pods: number;
  readonly nodes: number;
  readonly simulate: "always" | "never";
}

const loads: readonly Load[] = [
  { what: "no pods", pods: 0, nodes: 1, simulate: "never" },
  { what: "500 simulated pods on 5 nodes", pods: 500, nodes: 5, simulate: "always" },
  { what: "50 real pods", pods: 50, nodes: 1, simulate: "never" },
];

const home = await mkdtemp(join(tmpdir(), "klb-"));
process.env.KEELSON_STATE = home;
const rows: string[][] = [];
try {
  for (const load of loads) rows.push(await measure(load));
} finally {
  await clusterDown();
  await rm(home, { recursive: true, force: true });
}
console.log(
  table(["cluster with", "up", "all Ready", "server and controllers", "node", "CPU idle, one core"], rows),
);

async function measure({ what, pods, nodes, simulate }: Load): Promise<string[]> {
  console.error(what);
  const began = performance.now();
  const record = await clusterUp({ nodes, simulate, maxPods: 250 });
  const upMs = performance.now() - began;
  const client = await connect({ kubeconfig: record.kubeconfig });
  const readyMs = pods === 0 ? undefined : await fill(client, pods);
  await settled(client);
  const cost = await idle(record);
  await client.close();
  await clusterDown();
  return [
    what,
    seconds(upMs),
    readyMs === undefined ? "–" : seconds(readyMs),
    `${cost.serverMiB.toFixed(0)} MiB`,
    cost.nodeMiB === 0 ? "in the same process" : `${cost.nodeMiB.toFixed(0)} MiB`,
    `${(cost.cores * 100).toFixed(1)} %`,
  ];
}

/** A Deployment of that many; resolves to the time until all its pods were Ready. */
async function fill(client: Client, pods: number): Promise<number> {
  const labels = { app: "load" };
  const began = performance.now();
  await client.kind(Deployment).create({
    metadata: { name: "load", namespace: "default" },
    spec: {
      replicas: pods,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [{ name: "c", image: "busybox", command: ["sleep", "1000000"] }],
          terminationGracePeriodSeconds: 0,
        },
      },
    },
  });
  const ready = new Set<string>();
  for await (const event of client.kind(Pod).reflect({ namespace: "default" })) {
    if (!("object" in event)) continue;
    const { metadata, status } = event.object;
    if (status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True")) {
      ready.add(metadata.name);
    }
    if (ready.size >= pods) break;
  }
  return performance.now() - began;
}

/** Events and statuses of the pods are still being written when the last pod is Ready. */
async function settled(client: Client): Promise<void> {
  const revision = async () => (await client.kind(Node).list({ limit: 1 })).resourceVersion;
  for (let before = ""; ; ) {
    const now = await revision();
    if (now === before) return;
    before = now;
    await sleep(1_000);
  }
}

interface Cost {
  /** Resident, of the process with the API server and the controllers. */
  readonly serverMiB: number;
  /** Resident, of the process inside the namespace; 0 when there is none. */
  readonly nodeMiB: number;
  /** Cores that both take when nothing happens. Pods are not counted. */
  readonly cores: number;
}

async function idle(record: ClusterRecord): Promise<Cost> {
  const node = insideOf(record.pid);
  const own = [record.pid, ...(node === undefined ? [] : [node])];
  const ticks = () => own.reduce((sum, pid) => sum + ticksOf(pid), 0);
  const [before, began] = [ticks(), performance.now()];
  await sleep(idleSeconds * 1_000);
  const spent = (ticks() - before) / ticksPerSecond;
  return {
    serverMiB: residentMiB(record.pid),
    nodeMiB: node === undefined ? 0 : residentMiB(node),
    cores: spent / ((performance.now() - began) / 1_000),
  };
}

/** The node's own process among all that descend from the server. */
function insideOf(server: number): number | undefined {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
    parents.set(Number(name), Number(statOf(Number(name))[1]));
  }
  const descends = (pid: number): boolean => pid === server || (pid > 1 && descends(parents.get(pid) ?? 0));
  return [...parents.keys()].find(
    (pid) => pid !== server && descends(pid) && commandOf(pid).some((word) => /\/inside\.[jt]s$/.test(word)),
  );
}

function commandOf(pid: number): string[] {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return words[0]?.endsWith("node") ? words : [];
  } catch {
    return [];
  }
}

/** Fields from the state on: the command name before them may contain anything. */
function statOf(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

function ticksOf(pid: number): number {
  const fields = statOf(pid);
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
}

function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / kib;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
