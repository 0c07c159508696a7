/**
 * `npm run bench`: Keelson's informer beside @kubernetes/client-node's, in one run, interleaved, and what a manager costs.
 * All are clients in processes of their own, from built code, of one server that answers from prepared bytes, or with
 * `--server reference` of the real kube-apiserver. `--quick` for a small run.
 */
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { median, table } from "./measure.ts";
import { group, resource } from "./sdk-objects.ts";
import { startEmbedded, startReference, startReplay } from "./sdk-servers.ts";

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    server: { type: "string", default: "replay" },
    objects: { type: "string" },
    rounds: { type: "string" },
  },
});
if (flags.server !== "replay" && flags.server !== "reference")
  throw new Error(`there is no server ${JSON.stringify(flags.server)}: replay or reference`);
const real = flags.server === "reference";
const OBJECTS = Number(flags.objects ?? (flags.quick ? 5_000 : 50_000));
const ROUNDS = Number(flags.rounds ?? (flags.quick ? 3 : 5));
const EVENTS = flags.quick ? 500 : real ? 2_000 : 3_000;
/** A real server that shares two cores with its clients is not to be the bottleneck. */
const RATE = real ? 200 : 500;
const MANAGED = flags.quick ? 200 : 1_000;
const IDLE_MS = flags.quick ? 5_000 : 20_000;
/** A real server keeps what a round made, and only the first finds nothing there. */
const MANAGER_ROUNDS = real ? 1 : Math.min(ROUNDS, 3);

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

interface Work {
  readonly perSecond: number;
  readonly cpuUs: number;
  readonly reconciles: number;
}

interface Manager {
  readonly writing: Work;
  readonly checking: Work;
  readonly idleShare: number;
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

await using server = await (real ? startReference(OBJECTS) : startReplay(OBJECTS));
const syncs = { keelson: [] as Sync[], "client-node": [] as Sync[] };
const latencies = { keelson: [] as Latency[], "client-node": [] as Latency[] };
const imports = { keelson: [] as Import[], "client-node": [] as Import[] };
const { kubeconfig, control } = server;
const common = [kubeconfig, group, resource, String(OBJECTS), String(EVENTS), String(RATE), control];
for (let round = 1; round <= ROUNDS; round++) {
  for (const name of contenders) {
    process.stderr.write(`round ${round}: ${name}\n`);
    // What a server does not take part in is told once.
    if (!real) imports[name].push(await measure<Import>(`${name}-import.mjs`, []));
    syncs[name].push(await measure<Sync>(`${name}-sync.mjs`, common));
    latencies[name].push(await measure<Latency>(`${name}-latency.mjs`, common));
  }
}
report(syncs, latencies, imports);
const managers: Manager[] = [];
for (let round = 1; round <= MANAGER_ROUNDS; round++) {
  process.stderr.write(`round ${round}: a manager\n`);
  await using embedded = real ? undefined : await startEmbedded();
  const args = [(embedded ?? server).kubeconfig, String(MANAGED), String(IDLE_MS)];
  managers.push(await measure<Manager>("keelson-manager.mjs", args));
}
reportManager(managers);

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
  if (!real) {
    row("import, CPU, ms", imports, (run) => run.cpuMs);
    row("import, time, ms", imports, (run) => run.ms);
    row("RSS after import, MB", imports, (run) => run.rssMb);
  }
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown CPU"}`;
  console.log(
    `\n${OBJECTS} custom resources of 1.5 KB over TLS from ${server.title}; ${EVENTS} events at ${RATE}/s; ` +
      `medians of ${ROUNDS} interleaved rounds; Node ${process.version}; ${machine}\n`,
  );
  console.log(table(["", "keelson", "@kubernetes/client-node", "ratio"], rows));
}

function reportManager(managers: readonly Manager[]): void {
  const of = (value: (manager: Manager) => number, digits = 0) => median(managers.map(value)).toFixed(digits);
  const title = real ? server.title : "the embedded API server";
  console.log(
    `\na manager of ${MANAGED} custom resources with a child each, on ${title}; idle for ${IDLE_MS / 1000} s\n`,
  );
  const rows = [
    ["reconciles/s, child and status written", of(({ writing }) => writing.perSecond)],
    ["CPU of such a reconcile, µs", of(({ writing }) => writing.cpuUs)],
    ["reconciles/s, nothing to write", of(({ checking }) => checking.perSecond)],
    ["CPU of such a reconcile, µs", of(({ checking }) => checking.cpuUs)],
    ["CPU while nothing happens, % of one core", of(({ idleShare }) => 100 * idleShare, 2)],
    ["RSS, MB", of(({ rssMb }) => rssMb)],
  ];
  console.log(table(["", "keelson"], rows));
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
