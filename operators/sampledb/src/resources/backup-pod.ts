/** The pods of a backup: one that takes and proves it, one that removes it; and the Job that restores one. */
import { type BackupStore, backupName, mountStore } from "@keelson/kit";
import type { Desired } from "keelson";
import type { Job, Pod } from "keelson/kinds";
import type { AgentTask } from "../agent/task.ts";
import type { SampleDBBackupObject } from "../api/backup.ts";
import type { SampleDBObject, Spec } from "../api/sampledb.ts";
import { rdbFormatOf } from "../engine/version.ts";
import {
  agentContainer,
  type Container,
  connectionEnv,
  jobPod,
  type Mounted,
  redisAccess,
} from "./agent-pod.ts";
import {
  adoptable,
  claimName,
  type DatabaseName,
  databaseName,
  objectNames,
  selectorLabels,
  serverHost,
} from "./names.ts";
import { containerSecurity, imageOf } from "./stateful-set.ts";

const work = "/work";
const data = "/data";
const dumpFile = `${work}/dump.rdb`;
const checkFile = `${work}/check.txt`;
const scratchPort = 6390;
const coldPort = 6391;

export function nameInStore(backup: SampleDBBackupObject): string {
  const { name, namespace = "default", uid } = backup.metadata;
  return backupName({ namespace, database: backup.spec.database, name, uid });
}

export function storeOf(database: DatabaseName, spec: Pick<Spec, "backup">): BackupStore {
  return spec.backup.store ?? { claim: { name: objectNames(database).backups, path: "" } };
}

export interface BackupPodOptions {
  readonly backup: SampleDBBackupObject;
  readonly db: SampleDBObject;
  readonly store: BackupStore;
  readonly attempt: number;
  readonly image: string;
}

/**
 * Copies the data into the store and brings the copy back, has redis-check-rdb look at it, starts a scratch server of
 * the same version on it, and compares. The last container's report is the backup's.
 */
export function backupPod(options: BackupPodOptions): Desired<typeof Pod> {
  const { backup, db, store, attempt, image } = options;
  const database = databaseName(db);
  const { cold } = backup.spec;
  const redisImage = imageOf(db.spec, db.status?.imageVersion ?? db.spec.version);
  const { location, volumes } = mountStore(store);
  const { access, mounted } = redisAccess(database, db.spec, { user: "backup" });
  const leads = backup.spec.primary ? db.status?.primary : undefined;
  // Who leads is recorded: an old primary that does not know it yet would be found as well.
  const hosts = leads === undefined ? {} : { hosts: [serverHost(database, leads)] };
  const scratch = { hosts: ["127.0.0.1"], port: scratchPort, username: "default" };
  const place = { store: location, name: nameInStore(backup) };
  const copy: AgentTask = {
    do: "copy",
    ...place,
    access:
      cold === undefined
        ? { ...access, ...hosts }
        : { hosts: ["127.0.0.1"], port: coldPort, username: "default" },
    primary: cold !== undefined || backup.spec.primary,
    backupUid: backup.metadata.uid,
    database: backup.spec.database,
    file: dumpFile,
  };
  const workMount: Mounted = {
    volume: { name: "work", emptyDir: {} },
    mount: { name: "work", mountPath: work },
  };
  const all = [...volumes, ...mounted, workMount];
  const env = cold === undefined ? connectionEnv(database) : [];
  const dataMount: Mounted[] =
    cold === undefined
      ? []
      : [
          {
            volume: { name: "data", persistentVolumeClaim: { claimName: cold } },
            mount: { name: "data", mountPath: data },
          },
        ];
  const redis = (name: string, command: string[], more: Partial<Container> = {}): Container => ({
    name,
    image: redisImage,
    command,
    terminationMessagePolicy: "FallbackToLogsOnError",
    securityContext: containerSecurity,
    volumeMounts: [
      ...[workMount, ...(name === "stage" ? dataMount : [])].map(({ mount }) => mount),
      // The dump is read where it lies. Credentials of another store are not for these.
      ...(store.claim ? volumes.map(({ mount }) => ({ ...mount, readOnly: true })) : []),
    ],
    ...more,
  });
  const beside = { restartPolicy: "Always" as const };
  const initContainers: Container[] = [
    // Redis repairs and rewrites its files when it starts: it gets a copy.
    ...(cold === undefined
      ? []
      : [
          redis("stage", ["sh", "-c", `mkdir -p ${work}/cold && cp -r ${data}/appendonlydir ${work}/cold/`]),
          redis(
            "cold",
            ["redis-server", ...scratchFlags(coldPort), "--dir", `${work}/cold`, "--appendonly", "yes"],
            beside,
          ),
        ]),
    agentContainer("copy", image, copy, { mounted: all, env }),
    // It loads while the dump is checked.
    redis(
      "scratch",
      [
        "redis-server",
        ...scratchFlags(scratchPort),
        "--dir",
        work,
        "--dbfilename",
        "dump.rdb",
        "--appendonly",
        "no",
      ],
      beside,
    ),
    redis("check", checkDump({ file: dumpFile, checkFile })),
  ];
  const verify: AgentTask = { do: "verify", ...place, access: scratch, checkFile };
  const mountsOfVerify = [...volumes, workMount];
  return pod(backup, String(attempt), {
    initContainers,
    containers: [agentContainer("verify", image, verify, { mounted: mountsOfVerify })],
    mounted: [...all, ...dataMount],
  });
}

/** What it says is judged by the agent. */
export function checkDump({
  file,
  checkFile,
}: {
  readonly file: string;
  readonly checkFile: string;
}): string[] {
  return ["sh", "-c", `redis-check-rdb ${file} > ${checkFile} 2>&1 || true`];
}

function scratchFlags(port: number): string[] {
  return [
    "--port",
    String(port),
    "--bind",
    "127.0.0.1",
    "--protected-mode",
    "no",
    "--save",
    "",
    "--loglevel",
    "warning",
  ];
}

export function removerPod(
  backup: SampleDBBackupObject,
  store: BackupStore,
  image: string,
): Desired<typeof Pod> {
  const { location, volumes } = mountStore(store);
  const task: AgentTask = {
    do: "remove",
    store: location,
    name: nameInStore(backup),
    backupUid: backup.metadata.uid,
  };
  return pod(backup, "remove", {
    containers: [agentContainer("remove", image, task, { mounted: volumes })],
    mounted: volumes,
  });
}

function pod(
  backup: SampleDBBackupObject,
  suffix: string,
  parts: { initContainers?: Container[]; containers: Container[]; mounted: readonly Mounted[] },
): Desired<typeof Pod> {
  const { mounted, ...containers } = parts;
  const { name, namespace = "default", uid } = backup.metadata;
  const template = jobPod({ name: backup.spec.database, namespace, uid: "" }, containers, mounted);
  const short = name.slice(0, 45).replace(/[^a-z0-9]+$/, "");
  return {
    metadata: { name: `${short}-${uid.slice(0, 8)}-${suffix}`, labels: template.metadata.labels },
    spec: { ...template.spec, activeDeadlineSeconds: backup.spec.timeoutSeconds },
  };
}

export interface RestoreJobOptions {
  readonly db: SampleDBObject;
  readonly id: string;
  readonly ordinal: number;
  readonly from:
    | { readonly store: BackupStore; readonly name: string; readonly allowUnverified: boolean }
    | { readonly aside: string };
  readonly image: string;
}

/** Fills the volume of a server that does not run. */
export function restoreJob({ db, id, ordinal, from, image }: RestoreJobOptions): Desired<typeof Job> {
  const database = databaseName(db);
  const mounted = "store" in from ? mountStore(from.store) : undefined;
  const dataMount: Mounted = {
    volume: { name: "data", persistentVolumeClaim: { claimName: claimName(database, ordinal) } },
    mount: { name: "data", mountPath: data },
  };
  const all = [...(mounted?.volumes ?? []), dataMount];
  const task: AgentTask = {
    do: "restore",
    id,
    from:
      mounted && "store" in from
        ? { store: mounted.location, name: from.name, allowUnverified: from.allowUnverified }
        : (from as { aside: string }),
    rdbVersion: rdbFormatOf(db.status?.imageVersion ?? db.spec.version),
    directory: data,
  };
  return {
    metadata: {
      name: `${database.name}-restore-${id}`,
      labels: selectorLabels(database),
      annotations: adoptable(database),
    },
    spec: {
      backoffLimit: 2,
      activeDeadlineSeconds: 7_200,
      template: jobPod(
        database,
        { containers: [agentContainer("restore", image, task, { mounted: all })] },
        all,
      ),
    },
  };
}
