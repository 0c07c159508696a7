/** Databases as decisions see them, for tests: written as the difference from one that is well. */
import type { Leadership, Spec, Status } from "../api/sampledb.ts";
import type { ServerFacts } from "../engine/info.ts";
import { nowhere, redisPort } from "../engine/redis.ts";
import type { Observed, PodView, Server } from "../observe/observed.ts";

const id = "a".repeat(40);
export const nowMs: number = Date.parse("2026-01-01T00:00:00Z");

export function ipOf(ordinal: number): string {
  return `10.0.0.${ordinal + 1}`;
}

export function podFixture(ordinal: number, changes: Partial<PodView> = {}): PodView {
  return {
    uid: `pod-${ordinal}`,
    ip: ipOf(ordinal),
    node: `node-${ordinal}`,
    createdMs: nowMs - 60_000,
    ready: true,
    deleting: false,
    tls: undefined,
    stopped: false,
    ended: false,
    template: "t1",
    role: ordinal === 0 ? "primary" : "replica",
    read: ordinal !== 0,
    mislabelled: false,
    obstacle: undefined,
    ...changes,
  };
}

export function factsFixture(ordinal: number, changes: Partial<ServerFacts> = {}): ServerFacts {
  return {
    version: "7.0.15",
    runId: `run-${ordinal}`,
    role: "replica",
    replicationId: id,
    secondReplicationId: "0".repeat(40),
    secondOffset: -1n,
    offset: 1_000n,
    loading: false,
    upstream: { host: ipOf(0), port: redisPort },
    linkUp: true,
    silentSeconds: 0,
    syncing: false,
    replicas: [],
    failingOver: false,
    keys: 10,
    guard: 0,
    volume: `volume-${ordinal}`,
    databases: 16,
    rewriting: false,
    persistenceFailed: false,
    ...changes,
  };
}

/** A replica whose primary has stopped. */
export function orphan(ordinal: number, offset = 1_000n): Partial<Server> {
  return { answer: { state: "facts", facts: factsFixture(ordinal, { linkUp: false, offset }) } };
}

/** A process that has just started: it follows nobody and has a history of its own. */
export function restarted(
  ordinal: number,
  options: { readonly empty?: boolean; readonly facts?: Partial<ServerFacts> } = {},
): Partial<Server> {
  const port = options.empty ? nowhere.portWhenEmpty : nowhere.portWithData;
  const facts = factsFixture(ordinal, {
    runId: `new-${ordinal}`,
    replicationId: `b${ordinal}`.padEnd(40, "b"),
    upstream: { host: nowhere.host, port },
    linkUp: false,
    offset: 0n,
    ...options.facts,
  });
  return { answer: { state: "facts", facts } };
}

export const silent: Partial<Server> = { answer: { state: "silent", message: "no answer" }, silentMs: 5_000 };
export const refused: Partial<Server> = { answer: { state: "refused", message: "refused" } };
export const podless: Partial<Server> = { pod: undefined, answer: undefined };

export function leadershipFixture(replicas: number, changes: Partial<Leadership> = {}): Leadership {
  return {
    runId: "run-0",
    podUid: "pod-0",
    claimUid: "claim-0",
    replicationId: id,
    guard: Math.min(1, replicas),
    followers: Array.from({ length: replicas }, (_, index) => `db-${index + 1}`),
    ...changes,
  };
}

interface Changes {
  readonly replicas?: number;
  readonly acknowledgements?: number;
  readonly servers?: readonly (Partial<Server> | undefined)[];
  readonly status?: Partial<Status>;
  readonly spec?: Partial<Spec>;
  readonly observed?: Partial<Observed>;
}

/** `db-0` leads, everyone else follows; `servers` changes them one by one. */
export function observedFixture(changes: Changes = {}): Observed {
  const replicas = changes.replicas ?? 2;
  const count = Math.max(replicas + 1, changes.servers?.length ?? 0);
  const servers = Array.from({ length: count }, (_, ordinal): Server => {
    const connected = Array.from({ length: replicas }, (__, index) => ({
      host: ipOf(index + 1),
      port: redisPort,
      online: true,
      offset: 1_000n,
      lagSeconds: 0,
    }));
    const facts =
      ordinal === 0
        ? factsFixture(0, {
            role: "primary",
            upstream: undefined,
            linkUp: false,
            replicas: connected,
            guard: Math.min(changes.acknowledgements ?? 1, replicas),
          })
        : factsFixture(ordinal);
    const base: Server = {
      name: `db-${ordinal}`,
      ordinal,
      pod: podFixture(ordinal),
      claim: {
        uid: `claim-${ordinal}`,
        deleting: false,
        bound: true,
        lost: false,
        volume: `pv-${ordinal}`,
        requested: "1Gi",
        epoch: 3,
        primaryEpoch: ordinal === 0 ? 3 : undefined,
        identity: `volume-${ordinal}`,
        databases: 16,
        restored: undefined,
        version: "7.0",
        database: "uid",
        needsRestart: false,
      },
      answer: { state: "facts", facts },
      silentMs: 0,
      busyMs: 0,
      nodeLost: false,
      nodeCordoned: false,
    };
    return { ...base, ...changes.servers?.[ordinal] };
  });
  return {
    nowMs,
    database: { name: "db", namespace: "default", uid: "uid" },
    generation: 1,
    spec: {
      version: "7.0",
      image: "redis",
      replicas,
      storage: { size: "1Gi" },
      durability: { acknowledgements: changes.acknowledgements ?? 1, maxLagSeconds: 3 },
      settings: {},
      passwordOverlapSeconds: 600,
      users: [],
      initialize: { functions: [], commands: [] },
      migrations: [],
      pod: {},
      backup: { timeZone: "UTC", keep: 24, size: "5Gi" },
      onDelete: "Snapshot",
      paused: false,
      ...changes.spec,
    },
    status: {
      primary: "db-0",
      epoch: 3,
      leadership: leadershipFixture(replicas, { guard: Math.min(changes.acknowledgements ?? 1, replicas) }),
      imageVersion: "7.0",
      initialized: "h1",
      ...changes.status,
    },
    servers,
    setReplicas: replicas + 1,
    setTemplate: "t1",
    wantedTemplate: "t1",
    trial: undefined,
    jobs: [],
    initHash: "h1",
    schemaVersion: undefined,
    specProblem: undefined,
    departures: new Map(),
    caughtUp: true,
    restore: undefined,
    backups: new Map(),
    migrationsDue: 0,
    approvedLoss: undefined,
    handOverTo: undefined,
    ...changes.observed,
  };
}
