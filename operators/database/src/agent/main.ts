/** The first process in an instance's pod. */

import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { openStore } from "@keelson/kit/store";
import { parseKnownJson } from "../ha/json.ts";
import { leaseName } from "../ha/lease-object.ts";
import { Agent } from "./agent.ts";
import { apiServer } from "./api-server.ts";
import { Backups } from "./backups.ts";
import { Certificates } from "./certificates.ts";
import { handlersFor } from "./handlers.ts";
import { HorizonKeeper } from "./horizon.ts";
import { Kubernetes } from "./kubernetes.ts";
import { NetworkPeers } from "./peers.ts";
import { NetworkPoolers } from "./poolers.ts";
import type { Clock, FailsafeRequest, Log, Remembered, VoteRequest } from "./ports.ts";
import { Postgres } from "./postgres.ts";
import { restorable } from "./restorable.ts";
import { Rounds } from "./rounds.ts";
import { readSecret, readSettings, timingsOf } from "./settings.ts";
import { writeDurably } from "./tools.ts";
import { monotonicMs, Watchdog } from "./watchdog.ts";
import { agentPort, probePort, serve } from "./wire.ts";

const settings = readSettings(process.env);
const timings = timingsOf(settings);
const { namespace, instance, subdomain, uid } = settings;
const log: Log = {
  info: (message, fields) => say("info", message, fields),
  warn: (message, fields) => say("warn", message, fields),
};
const clock: Clock = {
  now: Date.now,
  monotonic: monotonicMs,
  timer: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};
const hostOf = (name: string) => `${name}.${subdomain}.${namespace}.svc`;
const key = () => Buffer.from(readFileSync(join(settings.secrets, "key"), "utf8").trim(), "base64");
const watchdog = new Watchdog(log);
const kubernetes = new Kubernetes({
  namespace,
  lease: leaseName(settings.database),
  instance,
  roleLabel: settings.roleLabel,
  send: apiServer({ timeoutMs: timings.requestTimeoutMs }),
});
const peers = new NetworkPeers({ hostOf, key, timeoutMs: timings.requestTimeoutMs });
const poolers = new NetworkPoolers({
  host: `${settings.database}-poolers.${namespace}.svc`,
  address: process.env["POD_IP"] ?? hostOf(instance),
  key,
  log,
});
const keep = join(settings.directory, "keelson");
const { store, restore } = settings;
const own = store && (await restorable(store, { keep, place: "store.json" }));
const other = restore && (await restorable(restore.store, { keep, place: "restore-store.json" }));
const certificates = settings.tls && new Certificates(settings.tls);
await certificates?.refresh();
const engine = new Postgres({
  name: instance,
  directory: settings.directory,
  programs: settings.programs,
  major: settings.major,
  ...(settings.oldPrograms !== undefined && { oldPrograms: settings.oldPrograms }),
  socketDirectory: settings.socketDirectory,
  hostOf,
  password: async () => await readSecret(settings, "replication"),
  watchdog,
  log,
  ...(certificates && {
    tls: { directory: certificates.directory, require: settings.tls?.require ?? false },
  }),
  ...(settings.initdb && { initdbOptions: settings.initdb }),
  ...(own && settings.archive && { archiveCommand: own.commands.push }),
  ...(own && { ownBackup: own.backup, restoreCommand: own.commands.fetch }),
  ...(restore &&
    other && {
      restore: {
        ...other.backup(restore.backup),
        ...(restore.targetTime !== undefined && { targetTime: restore.targetTime }),
      },
    }),
});
const backups =
  store === undefined
    ? undefined
    : new Backups({
        instance,
        store: async () => await openStore(store),
        programs: settings.programs,
        socketDirectory: settings.socketDirectory,
        scratch: settings.directory,
        tools: engine.tools,
        log,
        describe: async () => {
          const { data } = await engine.inspect();
          const [row] = await engine.queryAside(
            "SELECT current_setting('server_version') AS server_version, (SELECT sum(pg_database_size(oid)) FROM pg_database) AS size",
          );
          return {
            systemId: data?.systemId ?? "",
            timeline: data?.timeline ?? 0,
            version: row?.["server_version"] ?? "",
            dataBytes: Number(row?.["size"] ?? 0),
          };
        },
      });
/** Whether, and until when, everything can be restored from the archive. */
const horizon =
  store && settings.archive
    ? new HorizonKeeper({
        store: async () => await openStore(store),
        query: async (sql) => await engine.queryAside(sql),
      })
    : undefined;
const memoryPath = join(settings.directory, "keelson", "memory.json");
const memory = {
  read: async () => parseKnownJson(await readFile(memoryPath, "utf8").catch(() => "{}")) as Remembered,
  write: async (remembered: Remembered) => await writeDurably(memoryPath, JSON.stringify(remembered)),
};
const me = { name: instance, uid };
const agent = new Agent({
  me,
  lease: kubernetes,
  pods: kubernetes,
  poolers,
  peers,
  engine,
  guard: watchdog,
  memory,
  clock,
  timings,
  log,
});

let situation = "";

/** The lease's round; when it brings something new, the work's round comes at once. */
async function keepLease(): Promise<void> {
  await agent.keeper.round();
  if (agent.situation === situation) return;
  situation = agent.situation;
  work.call();
}

const failed = (name: string) => (error: Error) =>
  log.warn(`the round of the ${name} failed`, { error: error.message });
const lease = new Rounds({
  clock,
  run: keepLease,
  everyMs: () => timings.renewEveryMs,
  onError: failed("lease"),
});
const work = new Rounds({
  clock,
  run: async () => await agent.work(),
  // While the primary is not there, every round counts.
  everyMs: () => (agent.keeper.isHolderGone ? timings.renewEveryMs / 4 : timings.renewEveryMs),
  onError: failed("work"),
});

/** A renewed certificate is presented from the next connection on. */
async function keepCertificates(): Promise<void> {
  if (await certificates?.refresh()) await engine.reload();
}

async function keepHorizon(): Promise<void> {
  const { record, local, keeper, replication } = agent;
  const systemId = local.data?.systemId;
  if (!keeper.isHolding || agent.status().role !== "primary" || !record || !systemId) return;
  await horizon?.round({ epoch: record.epoch, systemId, archived: replication?.archived });
}

const server = serve(
  handlersFor({
    agent,
    engine,
    trust: () => certificates?.trust,
    backups,
    directory: settings.directory,
    recoverableUntil: () => horizon?.latest?.time,
    vote: async (request: VoteRequest) => await agent.answerVote(request),
    failsafe: (request: FailsafeRequest) => agent.keeper.failsafe(request),
    // Answered at once: the sender must not wait for what comes of it.
    nudge: () =>
      void agent.nudge().catch((error: unknown) => log.warn("nudge failed", { error: String(error) })),
  }),
  key,
);
const probes = createServer((incoming, outgoing) => {
  const { serving, role, receiving } = agent.status();
  // A standby is worth sending readers to when it follows somebody, and worth keeping while it does not.
  const ready = serving && (role === "primary" || receiving);
  const ok = incoming.url === "/livez" || ready;
  outgoing.writeHead(ok ? 200 : 503).end(ok ? "ok" : agent.status().reason);
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => {
    log.info("asked to end", { signal });
    void end();
  });
}

async function end(): Promise<void> {
  try {
    await agent.drain();
  } catch (error) {
    log.warn("the end is not clean", { error: String(error) });
  }
  lease.stop();
  work.stop();
  await watchdog[Symbol.asyncDispose]();
  process.exit(0);
}

await agent.keeper.recall();
server.listen(agentPort);
probes.listen(probePort);
log.info("the agent runs", { instance, uid, timings });
setInterval(() => {
  keepCertificates().catch((error: unknown) => log.warn("certificates", { error: String(error) }));
}, 5_000);
setInterval(() => {
  keepHorizon().catch((error: unknown) =>
    log.warn("the end of the archive is not known", { error: String(error) }),
  );
}, 5_000);
setInterval(() => {
  engine.tidy(Date.now()).catch((error: unknown) => log.warn("tidy", { error: String(error) }));
}, 3_600_000);
await Promise.all([lease.run(), work.run()]);

function say(level: string, message: string, fields: Readonly<{ [name: string]: unknown }> = {}): void {
  const text = JSON.stringify(
    { level, at: new Date().toISOString(), message, ...fields },
    (_, each: unknown) => (typeof each === "bigint" ? String(each) : each),
  );
  process.stdout.write(`${text}\n`);
}
