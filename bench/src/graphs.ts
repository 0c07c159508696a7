/**
 * `npm run bench:graphs`: instances of a graph and of a composite with five children, from the first create until all are
 * ready, and what they cost when nothing happens. Peers are measured beside them, each on a server of its own: kro with
 * `--kro FILE --suite DIR`, Metacontroller with `--metacontroller FILE`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, connect } from "@keelson/client";
import { dynamicKind, type KubeObject } from "@keelson/core";
import { ConfigMap, CustomResourceDefinition } from "@keelson/core/kinds";
import { ResourceGraphDefinition } from "@keelson/graphs";
import { CompositeController, ControllerRevision, DecoratorController } from "@keelson/hooks";
import { install } from "@keelson/runtime";
import { parseAllDocuments } from "yaml";
import { commandLine } from "../../scripts/command-line.ts";
import { composite, parentCrd, startHook } from "./graphs-hook.ts";
import { perSecond, table } from "./measure.ts";
import { startEmbedded } from "./sdk-servers.ts";

const flags = commandLine({
  command: "npm run bench:graphs",
  does: "What instances of a graph and of a composite cost, beside kro and Metacontroller.",
  options: {
    instances: { number: "N", default: 1000, help: "instances that are made" },
    idle: { number: "SECONDS", default: 30, help: "how long it is watched while nothing changes" },
    kro: { text: "FILE", help: "kro's program, to measure it too" },
    suite: { text: "DIR", help: "with --kro: a checkout of kro, for its CRDs" },
    metacontroller: { text: "FILE", help: "Metacontroller's program, to measure it too" },
    only: { text: "NAME", oneOf: ["graphs", "hooks"], help: "these alone" },
  },
});
const INSTANCES = flags.instances;
const IDLE_MS = flags.idle * 1000;
/** Five children; the last reads the four others. */
const children = ["a", "b", "c", "d"];
const child = (id: string, data: Record<string, string>) => ({
  id,
  template: {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `\${schema.metadata.name}-${id}` },
    data,
  },
});
const definition = {
  metadata: { name: "bench" },
  spec: {
    schema: { apiVersion: "v1alpha1", kind: "Bench", spec: { value: 'string | default="x"' } },
    resources: [
      ...children.map((id) => child(id, { value: `\${schema.spec.value}` })),
      child("e", { names: children.map((id) => `\${${id}.metadata.name}`).join(",") }),
    ],
  },
};
const kindOf = (group: string) =>
  dynamicKind({ group, version: "v1alpha1", kind: "Bench", resource: "benches", scope: "Namespaced" });

/** What is measured, and how it is told what to do. */
interface Subject {
  readonly title: string;
  readonly start: (client: Client, kubeconfig: string) => Promise<ChildProcess>;
  /** Whether it knows the kind of instances by now. */
  readonly define: (client: Client) => Promise<boolean>;
  readonly group: string;
  /** By which its children are found. */
  readonly labels: string;
}

interface Row {
  readonly readyS: number;
  readonly cpuS: number;
  readonly idleCpuS: number;
  readonly mebibytes: number;
  readonly idleWrites: number;
}

const rows: string[][] = [];
const program = join(import.meta.dirname, "../../packages/nocode/src/main.ts");
const keelson = (definitions: string, kubeconfig: string) =>
  spawn(process.execPath, ["--conditions=keelson-source", program], {
    env: { ...process.env, KUBECONFIG: kubeconfig, LOG_LEVEL: "warn", KEELSON_DEFINITIONS: definitions },
    stdio: "ignore",
  });
const peer = (file: string, args: readonly string[], kubeconfig: string) =>
  spawn(file, args, { env: { ...process.env, KUBECONFIG: kubeconfig }, stdio: "ignore" });

const graph = {
  group: "kro.run",
  labels: "kro.run/owned=true",
  define: async (client: Client) => {
    await client.kind(ResourceGraphDefinition).apply({ ...definition } as never, { force: true });
    return (await client.kind(ResourceGraphDefinition).get({ name: "bench" })).status?.state === "Active";
  },
};
await measure({
  ...graph,
  title: "Keelson graphs",
  start: async (client, kubeconfig) => {
    await install(client, [ResourceGraphDefinition]);
    return keelson("graphs", kubeconfig);
  },
});
if (flags.kro !== undefined && flags.suite !== undefined) {
  const { kro, suite } = flags;
  await measure({
    ...graph,
    title: "kro",
    start: async (client, kubeconfig) => {
      for (const file of globSync("helm/crds/*.yaml", { cwd: suite })) {
        for (const document of parseAllDocuments(readFileSync(join(suite, file), "utf8"))) {
          await client.kind(CustomResourceDefinition).create(document.toJS() as never);
        }
      }
      return peer(kro, ["--metrics-bind-address=0", "--health-probe-bind-address=0"], kubeconfig);
    },
  });
}

await using hook = await startHook(children);
const hooked = {
  group: "bench.example.com",
  labels: "bench=hook",
  define: async (client: Client) => {
    await client.kind(CompositeController).apply(composite(hook.url) as never, { force: true });
    // Whether it has begun is seen by what it does: Metacontroller reports nothing.
    const probe = await client
      .kind(kindOf("bench.example.com"))
      .apply({ metadata: { namespace: "default", name: "probe" } }, { force: true });
    return stateOf(probe) === "ACTIVE";
  },
};
const installed = async (client: Client) =>
  await install(client, [
    CompositeController,
    DecoratorController,
    ControllerRevision,
    { crd: () => parentCrd },
  ]);
await measure({
  ...hooked,
  title: "Keelson hooks",
  start: async (client, kubeconfig) => {
    await installed(client);
    return keelson("hooks", kubeconfig);
  },
});
if (flags.metacontroller !== undefined) {
  const { metacontroller } = flags;
  await measure({
    ...hooked,
    title: "Metacontroller",
    start: async (client, kubeconfig) => {
      await installed(client);
      const limits = ["--client-go-qps=1000", "--client-go-burst=2000", "--events-qps=1"];
      const quiet = ["--metrics-address=0", "--health-probe-bind-address=127.0.0.1:0"];
      const how = ["--apply-strategy=server-side-apply", "--discovery-interval=5s"];
      return peer(metacontroller, ["--kubeconfig", kubeconfig, ...limits, ...quiet, ...how], kubeconfig);
    },
  });
}
console.log(
  table(
    [
      "",
      `${INSTANCES} instances ready, s`,
      "CPU until then, s",
      "memory, MiB",
      `CPU of ${flags.idle} idle s`,
      "writes then",
    ],
    rows,
  ),
);

async function measure({ title, start, ...subjects }: Subject): Promise<void> {
  const family = subjects.group === graph.group ? "graphs" : "hooks";
  if (flags.only !== undefined && flags.only !== family) return;
  await using server = await startEmbedded();
  const client = await connect({ kubeconfig: server.kubeconfig, fieldManager: "bench" });
  const subject = await start(client, server.kubeconfig);
  try {
    const { readyS, cpuS, idleCpuS, mebibytes, idleWrites } = await play(
      client,
      subject.pid as number,
      subjects,
    );
    rows.push([
      title,
      readyS.toFixed(1),
      cpuS.toFixed(1),
      mebibytes.toFixed(0),
      idleCpuS.toFixed(2),
      String(idleWrites),
    ]);
    process.stderr.write(`${rows.at(-1)?.join("  ")}\n`);
  } finally {
    subject.kill("SIGKILL");
    await client.close();
  }
}

async function play(
  client: Client,
  pid: number,
  { define, group, labels }: Omit<Subject, "title" | "start">,
): Promise<Row> {
  await until(async () => await define(client).catch(() => false));
  const Bench = kindOf(group);
  const before = cpuSeconds(pid);
  const began = performance.now();
  await perSecond(INSTANCES, 16, async (index) => {
    await client
      .kind(Bench)
      .create({ metadata: { namespace: "default", name: `i${index}` }, spec: {} } as KubeObject);
  });
  await until(async () => {
    const { items } = await client.kind(Bench).list({ namespace: "default" });
    return items.filter((each) => isMeasured(each) && stateOf(each) === "ACTIVE").length === INSTANCES;
  });
  const readyS = (performance.now() - began) / 1000;
  const made = (await client.kind(ConfigMap).list({ labels })).items.filter(isMeasured).length;
  if (made !== 5 * INSTANCES) throw new Error(`${made} children were made, not ${5 * INSTANCES}`);
  const cpuS = cpuSeconds(pid) - before;
  const mebibytes = peakMebibytes(pid);
  await pause(10_000);
  const idleFrom = cpuSeconds(pid);
  const versionFrom = await version(client);
  await pause(IDLE_MS);
  const idleWrites = (await version(client)) - versionFrom;
  return { readyS, cpuS, mebibytes, idleCpuS: cpuSeconds(pid) - idleFrom, idleWrites };
}

function stateOf(object: KubeObject): string | undefined {
  return (object as { status?: { state?: string } }).status?.state;
}

/** Instances and their children are named by a number. */
function isMeasured({ metadata }: KubeObject): boolean {
  return /^i\d/.test(metadata?.name ?? "");
}

/** Every write makes a new one. */
async function version(client: Client): Promise<number> {
  const { resourceVersion } = await client.kind(ConfigMap).list({ namespace: "default", limit: 1 });
  return Number(resourceVersion);
}

function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function peakMebibytes(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

async function until(check: () => Promise<boolean>): Promise<void> {
  while (!(await check())) await pause(250);
}

async function pause(ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    setTimeout(resolve, ms);
  });
}
