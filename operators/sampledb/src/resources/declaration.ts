/** What the operator touches: its children, the pods and nodes they run on, and nothing else. */
import { all, allow, type Context, many, own, ref, select } from "keelson";
import {
  ConfigMap,
  Event,
  Job,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Secret,
  Service,
  StatefulSet,
} from "keelson/kinds";
import { SampleDBBackup } from "../api/backup.ts";
import { annotations } from "../api/names.ts";
import type { SampleDB, SampleDBObject } from "../api/sampledb.ts";
import { objectNames, selectorLabels } from "./names.ts";

/** An orphan that no status knows is found by its name. */
function named(what: keyof ReturnType<typeof objectNames>) {
  return ({ metadata }: { readonly metadata: { readonly name: string } }): string =>
    objectNames(metadata)[what];
}

/**
 * A foreground deletion has the garbage collector take the children first. What a last snapshot needs outlives that:
 * `finalize` decides its end.
 */
export const owns = {
  set: own(StatefulSet, { outlives: true, absent: "keep" }),
  servers: own(Service, { outlives: true }),
  writes: Service,
  reads: own(Service, { name: named("reads") }),
  primaryBudget: own(PodDisruptionBudget, { name: named("primaryBudget") }),
  replicaBudget: own(PodDisruptionBudget, { name: named("replicaBudget") }),
  config: own(ConfigMap, { outlives: true }),
  credentials: own(Secret, { outlives: true }),
  internal: own(Secret, { outlives: true }),
  acl: own(Secret, { outlives: true }),
  authority: own(Secret, { outlives: true }),
  certificate: own(Secret, { outlives: true }),
  binding: own(Secret, { name: named("binding") }),
  claims: many(PersistentVolumeClaim, {
    outlives: true,
    absent: "keep",
    // Also when someone took its labels away. Its name is that of this database, or of one before it.
    adopts: ({ metadata }) => metadata.annotations?.[annotations.database] !== undefined,
  }),
  backupsClaim: own(PersistentVolumeClaim, { outlives: true, absent: "keep" }),
  trials: many(Pod, { absent: "keep" }),
  trialConfig: own(ConfigMap, { absent: "keep" }),
  jobs: many(Job, { absent: "keep" }),
  // A SampleDB that is made again must know of them: they write to a volume.
  restores: many(Job, { outlives: true, absent: "keep" }),
  // And of these: their pods keep the claim of the store, also when they have ended.
  rehearsals: many(Job, { outlives: true, absent: "keep" }),
  backups: many(SampleDBBackup, { outlives: true, absent: "keep" }),
};

export const reads = {
  nodes: all(Node),
  pods: select(Pod, (db: SampleDBObject) => ({ labels: selectorLabels({ name: db.metadata.name }) })),
  given: ref(Secret, ({ spec, metadata }: SampleDBObject) =>
    spec.credentialsSecret === undefined
      ? undefined
      : { name: spec.credentialsSecret, namespace: metadata.namespace ?? "default" },
  ),
  givenTls: ref(Secret, ({ spec, metadata }: SampleDBObject) =>
    spec.tls?.secretName === undefined
      ? undefined
      : { name: spec.tls.secretName, namespace: metadata.namespace ?? "default" },
  ),
  restoreFrom: ref(SampleDBBackup, ({ spec, metadata }: SampleDBObject) =>
    spec.restoreFrom?.backup === undefined
      ? undefined
      : { name: spec.restoreFrom.backup, namespace: metadata.namespace ?? "default" },
  ),
};

export const writes = [
  allow(Pod, ["get", "list", "patch", "delete"]),
  allow(PersistentVolume, ["get", "list", "patch"]),
  allow(Event, ["create"]),
  allow(Namespace, ["get"]),
] as const;

export type SampleDBContext = Context<typeof SampleDB, typeof owns, typeof reads, typeof writes>;
