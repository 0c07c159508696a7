/**
 * `npm run bench:graphs`: instances of a graph with five children, from the first create until all are ready, and what they
 * cost when nothing happens. With `--kro FILE --suite DIR` kro's own controller is measured after it, on a server of its own.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Client, connect } from "@keelson/client";
import { dynamicKind, type KubeObject } from "@keelson/core";
import { ConfigMap, CustomResourceDefinition } from "@keelson/core/kinds";
import { ResourceGraphDefinition } from "@keelson/graphs";
import { install } from "@keelson/runtime";
import { parseAllDocuments } from "yaml";
import { perSecond, table } from "./measure.ts";
import { startEmbedded } from "./sdk-servers.ts";

const { values: flags } = parseArgs({
  options: {
    instances: { type: "string", default: "1000" },
    idle: { type: "string", default: "30" },
    kro: { type: "string" },
    /** A checkout of kro, for its CRDs. */
    suite: { type: "string" },
  },
});
const INSTANCES = Number(flags.instances);
const IDLE_MS = Number(flags.idle) * 1000;
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
const Bench = dynamicKind({
  group: "kro.run",
  version: "v1alpha1",
  kind: "Bench",
  resource: "benches",
  scope: "Namespaced",
});

interface Row {
  readonly readyS: number;
  readonly cpuS: number;
  readonly idleCpuS: number;
  readonly mebibytes: number;
  readonly idleWrites: number;
}

const rows: string[][] = [];
await measure("Keelson graphs", async (client, kubeconfig) => {
  await install(client, [ResourceGraphDefinition]);
  const program = join(import.meta.dirname, "../../packages/nocode/src/main.ts");
  return spawn(process.execPath, ["--conditions=keelson-source", program], started(kubeconfig));
});
if (flags.kro !== undefined && flags.suite !== undefined) {
  const { kro, suite } = flags;
  await measure("kro", async (client, kubeconfig) => {
    for (const file of globSync("helm/crds/*.yaml", { cwd: suite })) {
      for (const document of parseAllDocuments(readFileSync(join(suite, file), "utf8"))) {
        await client.kind(CustomResourceDefinition).create(document.toJS() as never);
      }
    }
    return spawn(kro, ["--metrics-bind-address=0", "--health-probe-bind-address=0"], started(kubeconfig));
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

function started(kubeconfig: string) {
  return {
    env: { ...process.env, KUBECONFIG: kubeconfig, LOG_LEVEL: "warn", KEELSON_DEFINITIONS: "graphs" },
    stdio: "ignore" as const,
  };
}

async function measure(
  title: string,
  start: (client: Client, kubeconfig: string) => Promise<ChildProcess>,
): Promise<void> {
  await using server = await startEmbedded();
  const client = await connect({ kubeconfig: server.kubeconfig, fieldManager: "bench" });
  const subject = await start(client, server.kubeconfig);
  try {
    const { readyS, cpuS, idleCpuS, mebibytes, idleWrites } = await play(client, subject.pid as number);
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

async function play(client: Client, pid: number): Promise<Row> {
  await until(async () => {
    try {
      await client.kind(ResourceGraphDefinition).apply({ ...definition } as never, { force: true });
      return (await client.kind(ResourceGraphDefinition).get({ name: "bench" })).status?.state === "Active";
    } catch {
      return false;
    }
  });
  const before = cpuSeconds(pid);
  const began = performance.now();
  await perSecond(INSTANCES, 16, async (index) => {
    await client
      .kind(Bench)
      .create({ metadata: { namespace: "default", name: `i${index}` }, spec: {} } as KubeObject);
  });
  await until(async () => {
    const { items } = await client.kind(Bench).list({ namespace: "default" });
    const ready = items.filter(
      (each) => (each as { status?: { state?: string } }).status?.state === "ACTIVE",
    );
    return ready.length === INSTANCES;
  });
  const readyS = (performance.now() - began) / 1000;
  const made = (await client.kind(ConfigMap).list({ labels: "kro.run/owned=true" })).items.length;
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
