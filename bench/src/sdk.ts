/** `npm run bench`: a cold sync of many custom resources, ours beside @kubernetes/client-node's, interleaved. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@keelson/client";
import { startCluster } from "@keelson/cluster";
import { dynamicKind } from "@keelson/core";
import { CustomResourceDefinition, Namespace } from "@keelson/core/kinds";
import type { SyncCost } from "./cost.ts";
import { median, perSecond, table } from "./measure.ts";

const OBJECTS = Number(process.env["OBJECTS"] ?? 50_000);
const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const group = "bench.keelson.dev";
const resource = "items";
const peers = join(import.meta.dirname, "../peers");
if (!existsSync(join(peers, "node_modules"))) {
  console.log("installing the peers");
  execFileSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: peers, stdio: "inherit" });
}

console.log("building");
execFileSync("tsc", ["-b", "packages/runtime"], {
  cwd: join(import.meta.dirname, "../.."),
  stdio: "inherit",
});

const stateDir = await mkdtemp(join(tmpdir(), "keelson-bench-"));
const cluster = await startCluster({ nodes: 0, controllers: false, stateDir });
await fill();
const contenders: Record<string, readonly string[]> = {
  keelson: [join(import.meta.dirname, "keelson-sync.ts")],
  "@kubernetes/client-node": ["--max-old-space-size=8192", join(peers, "client-node-sync.mjs")],
};
const costs = new Map<string, SyncCost[]>(Object.keys(contenders).map((name) => [name, []]));
for (let round = 1; round <= ROUNDS; round++) {
  for (const [name, args] of Object.entries(contenders)) {
    process.stderr.write(`round ${round}: ${name}\n`);
    costs.get(name)?.push(await measure(args));
  }
}
report();
await cluster.stop();
await rm(stateDir, { recursive: true, force: true });

/** The server is in this process, so the contender runs beside it and not inside a blocking call. */
async function measure(args: readonly string[]): Promise<SyncCost> {
  const { execFile } = await import("node:child_process");
  const all = ["--expose-gc", ...args, cluster.kubeconfig, group, resource, String(OBJECTS)];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, all, { timeout: 300_000 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stderr}`));
      else resolve(JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as SyncCost);
    });
  });
}

async function fill(): Promise<void> {
  process.stderr.write(`making ${OBJECTS} objects of 1.5 KB\n`);
  const client = await connect({ kubeconfig: cluster.kubeconfig });
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  await cluster.client.kind(CustomResourceDefinition).create({
    metadata: { name: `${resource}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: resource, kind: "Item" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  });
  await cluster.client.kind(Namespace).create({ metadata: { name: "bench" } });
  const kind = dynamicKind({ group, version: "v1", kind: "Item", resource, scope: "Namespaced" });
  await perSecond(OBJECTS, 16, (index) =>
    cluster.client.kind(kind).create({
      apiVersion: `${group}/v1`,
      kind: "Item",
      metadata: {
        namespace: "bench",
        name: `item-${index}`,
        labels: { app: `app-${index % 100}`, tier: "bench" },
      },
      spec: Object.fromEntries(
        Array.from({ length: 12 }, (_, field) => [`field${field}`, `value-${index}-${"x".repeat(60)}`]),
      ),
    } as never),
  );
  await client.close();
}

function report(): void {
  const columns = [
    ["importCpuMs", "import CPU, ms"],
    ["syncMs", "sync, ms"],
    ["cpuMs", "CPU, ms"],
    ["longestStallMs", "longest stall, ms"],
    ["peakRssMb", "peak RSS, MB"],
    ["retainedMb", "retained, MB"],
  ] as const;
  const figures = (name: string) =>
    columns.map(([key]) => median((costs.get(name) ?? []).map((cost) => cost[key])));
  const [ours, theirs] = Object.keys(contenders).map(figures) as [number[], number[]];
  const rows = Object.keys(contenders).map((name) => [
    name,
    ...figures(name).map((value) => value.toFixed(0)),
  ]);
  rows.push(["ratio", ...ours.map((value, column) => (value / (theirs[column] ?? Number.NaN)).toFixed(2))]);
  console.log(
    `\nCold sync of ${OBJECTS} custom resources, medians of ${ROUNDS} interleaved runs, Node ${process.version}\n`,
  );
  console.log(table(["informer", ...columns.map(([, title]) => title)], rows));
}
