/** What the operator's agent does in the pods of a simulation: it copies, proves, restores and removes backups. */
import { hash } from "node:crypto";
import type {
  ApplicationParts,
  ContainerEnd,
  ContainerStart,
  SimulatedProcess,
  SimulatedVolume,
} from "@keelson/testing";
import { parseJson } from "keelson";
import type { Initialization } from "../../src/agent/initialization.ts";
import { schemaKey } from "../../src/agent/initialize.ts";
import { type AgentTask, type Migration, taskVariable } from "../../src/agent/task.ts";
import { guardSetting } from "../../src/engine/redis.ts";
import { minorOf, rdbFormatOf } from "../../src/engine/version.ts";
import { systemUsers } from "../../src/resources/settings.ts";
import {
  type Archive,
  type Content,
  contentOf,
  type Dump,
  type Files,
  migrationsIn,
  newFiles,
  putBack,
} from "./files.ts";

type Task<D extends AgentTask["do"]> = Extract<AgentTask, { do: D }>;

/** A server as the agent sees it. */
interface Asked {
  readonly name: string;
  readonly role: "primary" | "replica";
  readonly running: boolean;
  readonly version: string;
  readonly files: Files;
  readonly settings: Map<string, string>;
  allows(user: string, password: string): boolean;
  /** How many replicas have it, or undefined when it takes no writes. */
  write(key: string, value: string): number | undefined;
}

/** What is there beside the agent. */
interface Surroundings {
  readonly servers: Iterable<Asked>;
  readonly parts: ApplicationParts;
  /** No backup can be read or written. */
  readonly storeDown: boolean;
  /** How long a task takes. */
  readonly taskMs: number;
  /** Pods that are filling their volume. */
  readonly filling: Set<string>;
}

/** A migration with this in its script fails on the database, though not when it is rehearsed. */
export const failingScript = "return redis.error_reply('it fails')";

/** What a task does, one step after the other; the last one says what is reported. */
type Work = readonly (() => object)[];

class Failure extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Between two steps of one task: what is killed then has done half of it. */
const stepMs = 200;

/** Begins its work at the end of its time: what is killed before has done nothing. */
class TaskRun implements SimulatedProcess {
  readonly ready = false;
  ended: ContainerEnd | undefined;
  readonly #start: ContainerStart;
  readonly #ended: () => void;

  constructor(
    start: ContainerStart,
    application: Surroundings,
    { work, ended }: { readonly work: Work; readonly ended: () => void },
  ) {
    this.#start = start;
    this.#ended = ended;
    const { clock } = application.parts;
    const next = (steps: Work, forMs: number) =>
      clock.timer(forMs, () => {
        if (this.ended) return;
        const [step = () => ({}), ...rest] = steps;
        const end = reportOf(step);
        if (end.exitCode === 0 && rest.length > 0) next(rest, stepMs);
        else this.#end(() => end);
      });
    next(work, application.taskMs);
  }

  /** As process 1 of its container it is not ended by SIGTERM. */
  stop(): void {}

  kill(): void {
    this.#end(() => ({ exitCode: 137, message: "" }));
  }

  #end(end: () => ContainerEnd): void {
    if (this.ended) return;
    this.ended = end();
    this.#ended();
    this.#start.changed();
  }
}

function reportOf(work: () => object): ContainerEnd {
  try {
    return { exitCode: 0, message: JSON.stringify({ ok: true, ...work() }) };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { code, message } = error;
    return { exitCode: 1, message: JSON.stringify({ ok: false, code, message }) };
  }
}

/** Containers without a task are Redis' own programs, which do what they should. */
export function startTask(start: ContainerStart, application: Surroundings): SimulatedProcess | ContainerEnd {
  const text = start.container.env?.find(({ name }) => name === taskVariable)?.value;
  if (text === undefined) return { exitCode: 0, message: "" };
  const task = parseJson(text) as unknown as AgentTask;
  const { name } = start.pod.metadata;
  if (task.do === "restore") application.filling.add(name);
  const ended = () => void application.filling.delete(name);
  const work = task.do === "restore" ? restore(task, start, application) : [workOf(task, start, application)];
  return new TaskRun(start, application, { work, ended });
}

function workOf(
  task: Exclude<AgentTask, { do: "restore" }>,
  start: ContainerStart,
  application: Surroundings,
): () => object {
  switch (task.do) {
    case "initialize": {
      const find = leaderFor(start, application, systemUsers.operator);
      const content = parseJson(
        start.files("config")["initialize.json"] ?? "{}",
      ) as unknown as Initialization;
      return () => migrate(find(), content.migrations);
    }
    case "migrate": {
      const find = leaderFor(start, application, systemUsers.operator, task.access.hosts);
      return () => migrate(find(), task.migrations, task.guard);
    }
    case "copy":
      return copy(task, start, application);
    case "verify":
      return () => verify(task, archiveOf(start, application), application);
    case "remove":
      return () => {
        const archive = storedIn(start, application);
        if (archive.get(task.name)?.backupUid === task.backupUid) archive.delete(task.name);
        return {};
      };
    case "fetch":
      return () => {
        dumpOf(archiveOf(start, application), task.name);
        return {};
      };
    case "rehearse":
    case "ledger":
      return () => ({});
  }
}

/** One after the other; those that ran are passed over. A transaction lifts the guard for itself. */
function migrate(leader: Asked, migrations: readonly Migration[], guard?: number): object {
  for (const { version, script } of migrations) {
    const ran = migrationsIn(leader.files);
    if (ran.includes(version)) continue;
    if (script.includes(failingScript)) throw new Failure("Failed", "it fails");
    const record = [...ran, version].join();
    if (guard !== undefined) leader.settings.set(guardSetting, "0");
    const isDone = leader.write(schemaKey, record) !== undefined;
    if (guard !== undefined) leader.settings.set(guardSetting, String(guard));
    if (!isDone) throw new Failure("NoReplicas", `${leader.name} takes no writes`);
  }
  return {};
}

/** The server that leads, if it is reached from the pod and lets it in. */
function leaderFor(
  start: ContainerStart,
  application: Surroundings,
  user: string,
  hosts?: readonly string[],
): () => Asked {
  const password = start.files("internal")[user] ?? "";
  const pod = start.pod.metadata.name;
  const names = hosts?.map((host) => host.split(".")[0]);
  return () => {
    const found = [...application.servers].filter(
      (server) =>
        server.running &&
        (names === undefined || names.includes(server.name)) &&
        application.parts.network.connected(pod, server.name) &&
        server.allows(user, password),
    );
    const [leader, other] = found.filter(({ role }) => role === "primary");
    if (!leader || other) throw new Failure("NoMember", "no server could be asked");
    return leader;
  };
}

function archiveOf(start: ContainerStart, application: Surroundings): Archive {
  const archive = storedIn(start, application);
  if (start.volume("store")?.corrupt) throw new Failure("SnapshotDamaged", "the store is damaged");
  return archive;
}

/** Files that are damaged can still be removed. */
function storedIn(start: ContainerStart, { storeDown }: Surroundings): Archive {
  const volume = start.volume("store");
  if (!volume || storeDown) throw new Failure("StoreUnavailable", "the store does not answer");
  volume.data ??= new Map();
  return volume.data as Archive;
}

function dumpOf(archive: Archive, name: string): Dump {
  const found = archive.get(name);
  if (!found) throw new Failure("NotFound", `the store has no ${name}`);
  return found;
}

function copy(task: Task<"copy">, start: ContainerStart, application: Surroundings): () => object {
  const cold = start.pod.spec?.volumes?.some(({ name }) => name === "data");
  const find = cold ? undefined : leaderFor(start, application, systemUsers.backup, task.access.hosts);
  return () => {
    const archive = archiveOf(start, application);
    if (start.volume("store")?.full) throw new Failure("StoreFull", "no space is left in the store");
    // A server sends what it has in the format of its own version.
    const asked = find?.();
    const { keys, version } = contentOf(asked?.files ?? filesOf(start.volume("data")));
    archive.set(task.name, {
      ...{ keys, version: asked ? minorOf(asked.version) : version },
      backupUid: task.backupUid,
      takenAt: new Date(application.parts.clock.now()).toISOString(),
      verified: false,
    });
    return {};
  };
}

function filesOf(volume: SimulatedVolume | undefined): Files {
  if (volume?.corrupt) throw new Failure("SnapshotDamaged", "the files of the volume are damaged");
  const files = volume?.data as Files | undefined;
  if (!files || files.unfinished !== undefined) throw new Failure("NotFound", "the volume is empty");
  return files;
}

function verify({ name }: Task<"verify">, archive: Archive, { parts }: Surroundings): object {
  const dump = { ...dumpOf(archive, name), verified: true };
  archive.set(name, dump);
  const { version, keys, takenAt, backupUid } = dump;
  const at = new Date(parts.clock.now()).toISOString();
  const redisVersion = `${version}.1`;
  const manifest = {
    ...{ format: 1, database: "db", source: "", sizeBytes: 1, sha256: hash("sha256", name) },
    ...{ backupUid, takenAt, redisVersion, rdbVersion: rdbFormatOf(version) ?? 0 },
    verified: { at, redisVersion, keys: keys.size },
  };
  return { manifest };
}

/** Sets aside what is there, then puts the other in its place. */
function restore(
  { id, from, rdbVersion }: Task<"restore">,
  start: ContainerStart,
  application: Surroundings,
): Work {
  const aside = `aside-${id}`;
  const volume = start.volume("data");
  if (!volume)
    return [
      () => {
        throw new Failure("NotFound", "the pod has no volume");
      },
    ];
  const next = (files: Files | undefined): Content => {
    if ("aside" in from) {
      const kept = files?.asides.get(from.aside);
      if (!kept) throw new Failure("NotFound", `the volume has no data under ${from.aside}`);
      return kept;
    }
    const dump = dumpOf(archiveOf(start, application), from.name);
    if (!dump.verified && !from.allowUnverified) throw new Failure("NotVerified", "it was never proven");
    if (rdbVersion !== undefined && (rdbFormatOf(dump.version) ?? 0) > rdbVersion)
      throw new Failure("VersionTooNew", `the backup was taken by Redis ${dump.version}`);
    return { keys: dump.keys, lineage: from.name, version: dump.version };
  };
  let content: Content | undefined;
  const setAside = () => {
    const files = volume.data as Files | undefined;
    if (files?.plans.has(aside)) return {};
    if (files && files.unfinished !== aside) putBack(files);
    content = next(files);
    if (files && files.unfinished === undefined) files.asides.set(aside, contentOf(files));
    if (files) files.unfinished = aside;
    return {};
  };
  const place = () => {
    if (!content) return { aside };
    volume.data ??= newFiles(content.version);
    const files = volume.data as Files;
    files.keys.clear();
    for (const [key, value] of content.keys) files.keys.set(key, value);
    Object.assign(files, { lineage: content.lineage, version: content.version, unfinished: undefined });
    files.plans.add(aside);
    if ("aside" in from) files.asides.delete(from.aside);
    volume.corrupt = false;
    return { aside };
  };
  return [setAside, place];
}
