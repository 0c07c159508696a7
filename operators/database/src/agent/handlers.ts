/** What an agent can be asked over the network. */
import { statfs } from "node:fs/promises";
import { standbyNames } from "../ha/sync.ts";
import type { Agent } from "./agent.ts";
import type { BackupJob, Backups } from "./backups.ts";
import { limits, wantedLimit } from "./configuration.ts";
import type { FailsafeRequest, PeerStatus, VoteRequest } from "./ports.ts";
import type { Postgres } from "./postgres.ts";
import { reconcileObjects, type SqlObjects } from "./sql-objects.ts";
import type { Handler } from "./wire.ts";

export interface HandlerOptions {
  readonly agent: Agent;
  readonly engine: Postgres;
  readonly backups: Backups | undefined;
  /** Digest of whom its PostgreSQL trusts. */
  readonly trust: () => string | undefined;
  /** The volume. */
  readonly directory: string;
  /** Everything that was committed until then is in the archive. */
  readonly recoverableUntil: () => string | undefined;
  readonly vote: (request: VoteRequest) => Promise<unknown>;
  readonly failsafe: (request: FailsafeRequest) => boolean;
  readonly nudge: () => void;
}

/** What the operator reads of an instance. */
export interface InstanceReport extends PeerStatus {
  readonly epoch: number | undefined;
  readonly systemId: string | undefined;
  /** The major version that wrote its data. Those of older releases do not say. */
  readonly dataMajor?: string;
  readonly timeline: number | undefined;
  readonly lastWords: string;
  readonly pendingRestart: readonly string[];
  /** What waits is lower than before: the primary restarts where it is, because its standbys still allow more. */
  readonly isLowering: boolean;
  /** Those of `spec.parameters` that it came to know last; null: none yet. Agents of older releases do not say. */
  readonly settings?: Values | null;
  /** Why the settings of the spec are not taken. */
  readonly settingsProblem?: string;
  readonly version: string;
  readonly sizeBytes: number;
  readonly standbys: readonly {
    readonly name: string;
    readonly lagBytes: number;
    readonly counted: boolean;
  }[];
  readonly synchronousNames: string;
  /** Everything that was committed until then is in the archive. */
  readonly recoverableUntil?: string;
  readonly trust?: string;
  /** Clients are kept out. */
  readonly closed?: boolean;
  readonly connections?: number;
  readonly maxConnections?: number;
  readonly volume?: { readonly sizeBytes: number; readonly freeBytes: number };
}

export function handlersFor(options: HandlerOptions): ReadonlyMap<string, Handler> {
  const { agent, engine } = options;
  return new Map<string, Handler>([
    ["GET /status", async () => agent.status()],
    ["GET /position", async () => await engine.position("aside")],
    ["GET /report", async () => await report(options)],
    ["POST /vote", async (body) => await options.vote(body as VoteRequest)],
    ["POST /failsafe", async (body) => options.failsafe(body as FailsafeRequest)],
    ["POST /nudge", async () => options.nudge()],
    ["POST /checkpoint", async () => await engine.checkpoint()],
    ["POST /objects", async (body) => await reconcileObjects(engine, body as SqlObjects)],
    [
      "POST /backup",
      async (body) => {
        expectPod(agent.me.uid, body as BackupRequest);
        return await required(options.backups).start(body as BackupRequest);
      },
    ],
    [
      "POST /backup/look",
      async (body) => {
        expectPod(agent.me.uid, body as BackupRequest);
        return await look(required(options.backups), (body as BackupRequest).name);
      },
    ],
    [
      "POST /backup/remove",
      async (body) => await required(options.backups).remove((body as { name: string }).name),
    ],
    ["POST /restart", async () => await agent.restart()],
    [
      "GET /names",
      async () =>
        standbyNames(agent.record?.published.quorums.at(-1) ?? { members: [], acks: 1 }, agent.me.name),
    ],
  ]);
}

/** What the operator asks of a backup. */
export interface BackupRequest {
  readonly name: string;
  readonly uid: string;
  /** UID of the pod that is meant: another one of its name may store elsewhere. Older releases do not say. */
  readonly pod?: string | undefined;
}

export function expectPod(own: string, { pod = own }: Partial<BackupRequest>): void {
  if (pod !== own) throw new Error("the pod that was asked has been replaced");
}

function required(backups: Backups | undefined): Backups {
  if (!backups) throw new Error("this instance has no store for backups");
  return backups;
}

/** How it goes with a backup; after a restart of the agent only what is in the store is known. */
async function look(backups: Backups, name: string): Promise<BackupJob | null> {
  const job = backups.job(name);
  if (job) return job;
  const manifest = await backups.find(name);
  return manifest ? { name, phase: "Done", message: "it is in the store", manifest } : null;
}

async function report(options: HandlerOptions): Promise<InstanceReport> {
  const { agent, engine, trust } = options;
  const status = agent.status();
  const { data, major } = agent.local;
  const dataMajor = data && (data.major ?? major);
  const running = status.role !== "none";
  const [row] = running
    ? await engine
        .queryAside(
          "SELECT current_setting('server_version') AS version, (SELECT sum(pg_database_size(oid)) FROM pg_database) AS size," +
            " (SELECT string_agg(name, ',') FROM pg_settings WHERE pending_restart) AS pending," +
            " (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections," +
            " current_setting('max_connections') AS most",
        )
        .catch(() => [])
    : [];
  const volume = await statfs(options.directory).catch(() => undefined);
  const recoverableUntil = status.role === "primary" ? options.recoverableUntil() : undefined;
  const replication = status.role === "primary" ? agent.replication : undefined;
  const pending = row?.["pending"]?.split(",") ?? [];
  return {
    ...status,
    epoch: agent.record?.epoch,
    systemId: data?.systemId,
    ...(dataMajor !== undefined && { dataMajor }),
    timeline: data?.timeline,
    lastWords: engine.lastWords,
    pendingRestart: pending,
    isLowering:
      pending.length > 0 &&
      pending.every((name) => isLowered(name, engine.wanted, replication?.limits ?? {})),
    settings: engine.taken ?? null,
    ...(engine.settingsProblem !== undefined && { settingsProblem: engine.settingsProblem }),
    version: row?.["version"]?.split(" ")[0] ?? "",
    sizeBytes: Number(row?.["size"] ?? 0),
    standbys: (replication?.standbys ?? []).map(({ name, flushed, counted, streaming }) => ({
      name,
      lagBytes: Number((replication?.lsn ?? 0n) - flushed),
      counted: counted && streaming,
    })),
    synchronousNames: replication?.synchronousNames ?? "",
    ...(recoverableUntil !== undefined && { recoverableUntil }),
    ...(trust() !== undefined && { trust: trust() ?? "" }),
    ...(engine.isClosed && { closed: true }),
    ...(row && { connections: Number(row["connections"]), maxConnections: Number(row["most"]) }),
    ...(volume && {
      volume: { sizeBytes: volume.bsize * volume.blocks, freeBytes: volume.bsize * volume.bavail },
    }),
  };
}

type Values = Readonly<{ [name: string]: string }>;

function isLowered(name: string, wanted: Values, present: Values): boolean {
  return limits.includes(name) && Number(wantedLimit(name, wanted)) < Number(present[name] ?? 0);
}
