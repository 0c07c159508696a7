/**
 * `npm run bench`: Keelson beside @kubernetes/client-node, controller-runtime (Go) and kube (Rust), in one run, interleaved:
 * a cache that is filled, a change on its way to a reconcile, and a manager. All are clients in processes of their own,
 * from built code, of one server that answers from prepared bytes, with `--server embedded` of the embedded API server, or with
 * `--server reference` of the real kube-apiserver. `--quick` for a small run, `--peers` for some of them, `--parts` for some of the measurements.
 */
import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import { join } from "node:path";
import { commandLine } from "../../scripts/command-line.ts";
import { median, table } from "./measure.ts";
import { buildContenders, type Contender, type Mode, run } from "./sdk-contenders.ts";
import { type ManagerCost, measureManager, prepare } from "./sdk-manager.ts";
import { group, resource } from "./sdk-objects.ts";
import { type BenchServer, startEmbedded, startReference, startReplay, startStoring } from "./sdk-servers.ts";

const flags = commandLine({
  command: "npm run bench",
  does: "What the SDK costs, beside its peers: an import, a cache that is filled, a change on its way to a reconcile, a manager.",
  options: {
    quick: { help: "a small run" },
    server: {
      text: "NAME",
      oneOf: ["replay", "embedded", "reference"],
      default: "replay",
      help: "who answers",
    },
    objects: { number: "N", help: "in the cache (default: 50000, with --quick 5000)" },
    rounds: { number: "N", help: "of each measurement (default: 5, with --quick 3)" },
    peers: { text: "NAME,…", help: "beside these peers alone" },
    parts: { text: "NAME,…", default: "import,sync,latency,manager", help: "these measurements alone" },
  },
});
/** A server that keeps objects: what a change costs it is in the figures. */
const stores = flags.server !== "replay";
const real = flags.server === "reference";
const parts = flags.parts.split(",");
const OBJECTS = flags.objects ?? (flags.quick ? 5_000 : 50_000);
const ROUNDS = flags.rounds ?? (flags.quick ? 3 : 5);
const EVENTS = flags.quick ? 500 : stores ? 2_000 : 3_000;
/** A server that shares two cores with its clients is not to be the bottleneck. */
const RATE = stores ? 200 : 500;
const MANAGED = flags.quick ? 500 : 2_000;
const PASSES = 5;
const IDLE_MS = 10_000;
const MANAGER_ROUNDS = Math.min(ROUNDS, 3);

interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
  /** Where there is one event loop. */
  readonly longestStallMs?: number;
  readonly longestBusyMs?: number;
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

/** What each contender gave, round by round. */
type Runs<T> = Map<Contender, T[]>;

const root = join(import.meta.dirname, "../..");
console.log("building");
execFileSync("tsc", ["-b", "packages/runtime", "packages/keelson"], { cwd: root, stdio: "inherit" });
const contenders = await buildContenders(
  flags.peers === undefined
    ? undefined
    : ["keelson", ...flags.peers.split(",").filter((name) => name !== "")],
);
const ours = contenders[0] as Contender;
const machine = `Node ${process.version}; ${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown CPU"}`;

const follows = ["import", "sync", "latency"].some((part) => parts.includes(part));
await using server = real
  ? await startReference(follows ? OBJECTS : 0)
  : follows
    ? await (stores ? startStoring(OBJECTS) : startReplay(OBJECTS))
    : undefined;
if (server && follows) await compareInformers(server);
if (parts.includes("manager")) await compareManagers();

async function compareInformers({ kubeconfig, control, title }: BenchServer): Promise<void> {
  const imports: Runs<Import> = new Map();
  const syncs: Runs<Sync> = new Map();
  const latencies: Runs<Latency> = new Map();
  const args = [kubeconfig, group, resource, String(OBJECTS), String(EVENTS), String(RATE), control];
  const measure = async <T>(runs: Runs<T>, contender: Contender, mode: Mode, given: readonly string[]) => {
    if (!parts.includes(mode) || !contender.modes.includes(mode)) return;
    const result = await run<T>(contender, mode, given);
    runs.set(contender, [...(runs.get(contender) ?? []), result]);
  };
  for (let round = 1; round <= ROUNDS; round++) {
    for (const contender of contenders) {
      process.stderr.write(`round ${round}: ${contender.name}\n`);
      // What a server does not take part in is told once.
      if (!stores) await measure(imports, contender, "import", []);
      await measure(syncs, contender, "sync", args);
      await measure(latencies, contender, "latency", args);
    }
  }
  const each = (bytes: number) => bytes / OBJECTS;
  const rows = [
    row("cold sync, CPU, ms", syncs, (one) => one.sync.cpuMs),
    row("cold sync, time, ms", syncs, (one) => one.sync.ms),
    row("longest stall: CPU in one go, ms", syncs, (one) => one.sync.longestBusyMs, 1),
    row("longest stall: by the clock, ms", syncs, (one) => one.sync.longestStallMs, 1),
    row("peak RSS, MB", syncs, (one) => one.peakRssMb),
    row("memory per object, B", syncs, (one) => each(one.retained)),
    row("sync, then every object read once: CPU, ms", syncs, (one) => one.sync.cpuMs + one.read.cpuMs),
    row("memory per object right after that, B", syncs, (one) => each(one.retainedAfterRead)),
    row("event to reconcile, p50, ms", latencies, (one) => one.p50Ms, 2),
    row("event to reconcile, p99, ms", latencies, (one) => one.p99Ms, 2),
    row("CPU per event, µs", latencies, (one) => one.cpuUsPerEvent),
    row("import, CPU, ms", imports, (one) => one.cpuMs),
    row("import, time, ms", imports, (one) => one.ms),
    row("RSS after import, MB", imports, (one) => one.rssMb),
  ];
  console.log(
    `\n${OBJECTS} custom resources of 1.5 KB over TLS from ${title}; ${EVENTS} events at ${RATE}/s; ` +
      `medians of ${ROUNDS} interleaved rounds; ${machine}\n`,
  );
  print(contenders, rows);
}

async function compareManagers(): Promise<void> {
  const managing = contenders.filter(({ modes }) => modes.includes("manager"));
  const runs: Runs<ManagerCost> = new Map();
  let title = "the embedded API server";
  for (let round = 1; round <= MANAGER_ROUNDS; round++) {
    for (const contender of managing) {
      process.stderr.write(`round ${round}: a manager of ${contender.name}\n`);
      await using embedded = server && real ? undefined : await startEmbedded();
      const target = embedded ?? (server as BenchServer);
      title = target.title;
      const options = {
        kubeconfig: target.kubeconfig,
        namespace: `run-${round}-${managing.indexOf(contender)}`,
        objects: MANAGED,
        passes: PASSES,
        idleMs: IDLE_MS,
      };
      await prepare(ours, options);
      runs.set(contender, [...(runs.get(contender) ?? []), await measureManager(contender, options)]);
    }
  }
  const rows = [
    row("objects/s, child and status written", runs, ({ writing }) => writing.perSecond),
    row("CPU per object until all is written, µs", runs, ({ writing }) => writing.cpuUsPerObject),
    row("reconciles/s, nothing to do", runs, ({ checking }) => checking.perSecond),
    row("CPU of such a reconcile, µs", runs, ({ checking }) => checking.cpuUs),
    row("CPU while nothing happens, % of one core", runs, ({ idleShare }) => 100 * idleShare, 2),
    row("RSS, MB", runs, ({ rssMb }) => rssMb),
  ];
  console.log(
    `\na manager of ${MANAGED} custom resources with a child and a status each, on ${title}; all looked at again ` +
      `${PASSES} times; idle for ${IDLE_MS / 1000} s; medians of ${MANAGER_ROUNDS} interleaved rounds; ${machine}\n`,
  );
  print(managing, rows);
}

/** A measured value of each contender, and ours as a multiple of each other's. */
interface Row {
  readonly title: string;
  readonly values: ReadonlyMap<Contender, number>;
  readonly digits: number;
}

function row<T>(title: string, runs: Runs<T>, of: (run: T) => number | undefined, digits = 0): Row {
  const values = new Map<Contender, number>();
  for (const [contender, all] of runs) {
    const found = all.flatMap((each) => of(each) ?? []);
    if (found.length > 0) values.set(contender, median(found));
  }
  return { title, values, digits };
}

function print(columns: readonly Contender[], rows: readonly Row[]): void {
  const others = columns.filter((each) => each !== ours);
  const cells = rows.flatMap(({ title, values, digits }) => {
    const mine = values.get(ours);
    if (mine === undefined) return [];
    const theirs = others.flatMap((each) => {
      const value = values.get(each);
      if (value === undefined) return ["–", "–"];
      return [value.toFixed(digits), value === 0 ? "–" : `${(mine / value).toFixed(2)}×`];
    });
    return [[title, mine.toFixed(digits), ...theirs]];
  });
  console.log(table(["", ours.name, ...others.flatMap(({ name }) => [name, "ratio"])], cells));
}
