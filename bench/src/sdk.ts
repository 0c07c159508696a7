/**
 * `npm run bench`: Keelson's informer beside @kubernetes/client-node's, in one run, interleaved. Both are clients in
 * processes of their own, from built code, of one server that answers from prepared bytes. `--quick` for a small run.
 */
import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs, promisify } from "node:util";
import { median, table } from "./measure.ts";
import { group, resource } from "./sdk-objects.ts";

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    objects: { type: "string" },
    rounds: { type: "string" },
  },
});
const OBJECTS = Number(flags.objects ?? (flags.quick ? 5_000 : 50_000));
const ROUNDS = Number(flags.rounds ?? (flags.quick ? 3 : 5));
const EVENTS = flags.quick ? 500 : 3_000;
const RATE = 500;

interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
  readonly longestStallMs: number;
  readonly longestBusyMs: number;
}

interface Sync {
  readonly sync: Cost;
  readonly read: Cost;
  readonly peakRssMb: number;
  readonly retained: number;
  readonly retainedAfterRead: number;
}

interface Latency {
  readonly seen: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuUsPerEvent: number;
}

interface Import {
  readonly ms: number;
  readonly cpuMs: number;
  readonly rssMb: number;
}

const contenders = ["keelson", "client-node"] as const;
type Contender = (typeof contenders)[number];

const root = join(import.meta.dirname, "../..");
const peers = join(import.meta.dirname, "../peers");
if (!existsSync(join(peers, "node_modules"))) {
  console.log("installing the peers");
  execFileSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: peers, stdio: "inherit" });
}
console.log("building");
// What the bench loads first, so that a fault in a package beside it does not stop it.
execFileSync("tsc", ["-b", "packages/runtime"], { cwd: root, stdio: "inherit" });
spawnSync("tsc", ["-b", "packages/keelson"], { cwd: root, stdio: "inherit" });

const directory = await mkdtemp(join(tmpdir(), "keelson-bench-"));
certify();
const server = spawn(
  process.execPath,
  [join(import.meta.dirname, "sdk-replay.ts"), directory, String(OBJECTS)],
  {
    stdio: ["ignore", "pipe", "inherit"],
  },
);
try {
  const kubeconfig = await serverReady();
  const syncs = { keelson: [] as Sync[], "client-node": [] as Sync[] };
  const latencies = { keelson: [] as Latency[], "client-node": [] as Latency[] };
  const imports = { keelson: [] as Import[], "client-node": [] as Import[] };
  const common = [kubeconfig, group, resource, String(OBJECTS), String(EVENTS), String(RATE)];
  for (let round = 1; round <= ROUNDS; round++) {
    for (const name of contenders) {
      process.stderr.write(`round ${round}: ${name}\n`);
      imports[name].push(await measure<Import>(`${name}-import.mjs`, []));
      syncs[name].push(await measure<Sync>(`${name}-sync.mjs`, common));
      latencies[name].push(await measure<Latency>(`${name}-latency.mjs`, common));
    }
  }
  report(syncs, latencies, imports);
} finally {
  server.kill();
  await rm(directory, { recursive: true, force: true });
}

function report(
  syncs: Record<Contender, Sync[]>,
  latencies: Record<Contender, Latency[]>,
  imports: Record<Contender, Import[]>,
): void {
  const rows: string[][] = [];
  const row = <T>(
    title: string,
    runs: Record<Contender, T[]>,
    of: (run: T) => number,
    { digits = 0 } = {},
  ) => {
    const ours = median(runs.keelson.map(of));
    const theirs = median(runs["client-node"].map(of));
    rows.push([title, ours.toFixed(digits), theirs.toFixed(digits), `${(ours / theirs).toFixed(2)}×`]);
  };
  const each = (bytes: number) => bytes / OBJECTS;
  row("cold sync, CPU, ms", syncs, (run) => run.sync.cpuMs);
  row("cold sync, time, ms", syncs, (run) => run.sync.ms);
  row("longest stall: CPU in one go, ms", syncs, (run) => run.sync.longestBusyMs, { digits: 1 });
  row("longest stall: by the clock, ms", syncs, (run) => run.sync.longestStallMs, { digits: 1 });
  row("peak RSS, MB", syncs, (run) => run.peakRssMb);
  row("memory per object, B", syncs, (run) => each(run.retained));
  row("sync, then every object read once: CPU, ms", syncs, (run) => run.sync.cpuMs + run.read.cpuMs);
  row("memory per object right after that, B", syncs, (run) => each(run.retainedAfterRead));
  row("event to reconcile, p50, ms", latencies, (run) => run.p50Ms, { digits: 2 });
  row("event to reconcile, p99, ms", latencies, (run) => run.p99Ms, { digits: 2 });
  row("CPU per event, µs", latencies, (run) => run.cpuUsPerEvent);
  row("import, CPU, ms", imports, (run) => run.cpuMs);
  row("import, time, ms", imports, (run) => run.ms);
  row("RSS after import, MB", imports, (run) => run.rssMb);
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown CPU"}`;
  console.log(
    `\n${OBJECTS} custom resources of 1.5 KB over TLS; ${EVENTS} events at ${RATE}/s; ` +
      `medians of ${ROUNDS} interleaved rounds; Node ${process.version}; ${machine}\n`,
  );
  console.log(table(["", "keelson", "@kubernetes/client-node", "ratio"], rows));
}

/** Runs a contender without the conditions that would load our sources: what is measured is what is published. */
async function measure<T>(script: string, args: readonly string[]): Promise<T> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--expose-gc", join(peers, script), ...args],
    { timeout: 300_000, env: { ...process.env, NODE_OPTIONS: "" } },
  );
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as T;
}

function certify(): void {
  const name = ["-subj", "/CN=keelson-bench", "-addext", "subjectAltName=IP:127.0.0.1"];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "tls.key"];
  execFileSync("openssl", ["req", "-x509", ...key, "-out", "tls.crt", "-days", "2", ...name], {
    cwd: directory,
    stdio: "ignore",
  });
}

/** Waits until the server listens and writes the kubeconfig that leads to it. */
async function serverReady(): Promise<string> {
  for await (const port of createInterface(server.stdout)) {
    const path = join(directory, "kubeconfig");
    const ca = (await readFile(join(directory, "tls.crt"))).toString("base64");
    const config = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "bench",
      contexts: [{ name: "bench", context: { cluster: "bench", user: "bench" } }],
      users: [{ name: "bench", user: { token: "bench" } }],
      clusters: [
        {
          name: "bench",
          cluster: { server: `https://127.0.0.1:${port}`, "certificate-authority-data": ca },
        },
      ],
    };
    await writeFile(path, JSON.stringify(config));
    return path;
  }
  throw new Error("the bench's server ended before it listened");
}
