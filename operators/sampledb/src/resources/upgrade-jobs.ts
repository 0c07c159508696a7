/** The Jobs of an upgrade: one rehearses it on a backup, one runs the migrations. */
import { type BackupStore, mountStore } from "@keelson/kit";
import type { Desired } from "keelson";
import type { Job } from "keelson/kinds";
import { initialization } from "../agent/initialization.ts";
import type { AgentTask, Migration } from "../agent/task.ts";
import type { SampleDBObject, Spec } from "../api/sampledb.ts";
import {
  agentContainer,
  type Container,
  connectionEnv,
  jobPod,
  type Mounted,
  redisAccess,
} from "./agent-pod.ts";
import { checkDump } from "./backup-pod.ts";
import { adoptable, databaseName, selectorLabels, serverHost } from "./names.ts";
import { containerSecurity, imageOf } from "./stateful-set.ts";

const work = "/work";
const file = `${work}/dump.rdb`;
const checkFile = `${work}/check.txt`;
const port = 6390;

export interface RehearsalOptions {
  readonly db: SampleDBObject;
  readonly id: string;
  readonly from: { readonly store: BackupStore; readonly name: string };
  readonly version: string;
  readonly image: string;
}

function migrationsOf(spec: Spec, version: string): readonly Migration[] {
  return initialization(spec, version, []).migrations;
}

export function rehearsalJob({ db, id, from, version, image }: RehearsalOptions): Desired<typeof Job> {
  const database = databaseName(db);
  const { location, volumes } = mountStore(from.store);
  const workMount: Mounted = {
    volume: { name: "work", emptyDir: {} },
    mount: { name: "work", mountPath: work },
  };
  const all = [...volumes, workMount];
  const fetch: AgentTask = { do: "fetch", store: location, name: from.name, file };
  const access = { hosts: ["127.0.0.1"], port, username: "default" };
  const rehearse: AgentTask = {
    do: "rehearse",
    access,
    checkFile,
    migrations: migrationsOf(db.spec, version),
  };
  const redis = (name: string, command: string[]): Container => ({
    name,
    image: imageOf(db.spec, version),
    command,
    terminationMessagePolicy: "FallbackToLogsOnError",
    securityContext: containerSecurity,
    volumeMounts: [workMount.mount],
  });
  const trial: Container = {
    ...redis("trial", [
      ...[
        "redis-server",
        "--port",
        String(port),
        "--bind",
        "127.0.0.1",
        "--protected-mode",
        "no",
        "--save",
        "",
      ],
      ...["--dir", work, "--dbfilename", "dump.rdb", "--appendonly", "no"],
    ]),
    restartPolicy: "Always",
  };
  const check = redis("check", checkDump({ file, checkFile }));
  return {
    metadata: {
      name: `${database.name}-rehearse-${id}`,
      labels: selectorLabels(database),
      annotations: adoptable(database),
    },
    spec: {
      backoffLimit: 1,
      activeDeadlineSeconds: 3_600,
      template: jobPod(
        database,
        {
          initContainers: [agentContainer("fetch", image, fetch, { mounted: all }), trial, check],
          containers: [agentContainer("rehearse", image, rehearse, { mounted: [workMount] })],
        },
        all,
      ),
    },
  };
}

export function migrationJob(options: {
  readonly db: SampleDBObject;
  readonly id: string;
  /** The server that has the data: the old primary is there too, to go back to. */
  readonly server: string;
  /** With which it takes no writes. */
  readonly guard: number;
  readonly image: string;
}): Desired<typeof Job> {
  const { db, id, server, guard, image } = options;
  const database = databaseName(db);
  const { access: all, mounted } = redisAccess(database, db.spec, { user: "operator" });
  const access = { ...all, hosts: [serverHost(database, server)] };
  const migrations = migrationsOf(db.spec, db.spec.version);
  const task: AgentTask = { do: "migrate", access, migrations, guard };
  return {
    metadata: {
      name: `${database.name}-migrate-${id}`,
      labels: selectorLabels(database),
      annotations: adoptable(database),
    },
    spec: {
      // Nobody writes meanwhile, and the way back is short.
      backoffLimit: 0,
      activeDeadlineSeconds: 3_600,
      template: jobPod(
        database,
        { containers: [agentContainer("migrate", image, task, { mounted, env: connectionEnv(database) })] },
        mounted,
      ),
    },
  };
}
