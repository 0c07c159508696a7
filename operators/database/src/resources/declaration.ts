/** What the operator touches: its children, the Lease of the instances, and nothing else. */
import { allow, type Context, many, own, ref } from "keelson";
import {
  Deployment,
  Event,
  Lease,
  Namespace,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Role,
  RoleBinding,
  Secret,
  Service,
  ServiceAccount,
} from "keelson/kinds";
import { DatabaseBackup } from "../api/backup.ts";
import type { Database, DatabaseObject } from "../api/database.ts";
import { poolerName } from "./names.ts";
import { serviceName } from "./services.ts";

/**
 * A foreground deletion has the garbage collector take the children first. What a last backup needs outlives that:
 * `finalize` deletes it.
 */
export const owns = {
  services: many(Service, { name: serviceName }),
  /** By which instances find each other. Second owner of their pods, see `ownersOf`. */
  names: own(Service, { outlives: true }),
  budget: PodDisruptionBudget,
  pooler: own(Deployment, { name: ({ metadata }) => poolerName(metadata) }),
  account: own(ServiceAccount, { outlives: true }),
  role: own(Role, { outlives: true }),
  binding: own(RoleBinding, { outlives: true }),
  secrets: many(Secret, { outlives: true, absent: "keep" }),
  claims: many(PersistentVolumeClaim, { outlives: true }),
  pods: many(Pod, { outlives: true }),
  /** Scheduled ones and the last one: they are there when everything else is gone. */
  backups: many(DatabaseBackup, { outlives: true, absent: "keep" }),
};

export const reads = {
  inPlaceBackup: ref(DatabaseBackup, ({ spec, metadata }: DatabaseObject) =>
    spec.restoreInPlace?.backup === undefined
      ? undefined
      : { name: spec.restoreInPlace.backup, namespace: metadata.namespace ?? "default" },
  ),
  restoreFrom: ref(DatabaseBackup, ({ spec, metadata }: DatabaseObject) =>
    spec.restoreFrom?.backup === undefined
      ? undefined
      : { name: spec.restoreFrom.backup, namespace: metadata.namespace ?? "default" },
  ),
};

/**
 * The Lease is no child: it changes every second, and each change would call the reconcile. It is read once in a pass;
 * what matters of it also changes the pods' labels, which are watched.
 */
export const writes = [
  allow(Lease, ["get", "create", "patch", "delete"]),
  allow(PersistentVolume, ["get", "patch"]),
  allow(Event, ["create"]),
  allow(Namespace, ["get"]),
] as const;

export type DatabaseContext = Context<typeof Database, typeof owns, typeof reads, typeof writes>;
