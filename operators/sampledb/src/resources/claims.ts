/** The volumes: one for each server, and one for backups. */
import type { Desired } from "keelson";
import type { PersistentVolumeClaim } from "keelson/kinds";
import { annotations } from "../api/names.ts";
import type { Spec } from "../api/sampledb.ts";
import { claimName, type DatabaseName, objectNames, selectorLabels } from "./names.ts";

type Claim = Desired<typeof PersistentVolumeClaim>;

export function dataClaim(database: DatabaseName, ordinal: number, storage: Spec["storage"]): Claim {
  return {
    metadata: {
      name: claimName(database, ordinal),
      labels: selectorLabels(database),
      annotations: { [annotations.database]: database.uid },
    },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: String(storage.size) } },
      ...(storage.className === undefined ? {} : { storageClassName: storage.className }),
    },
  };
}

export function backupsClaim(database: DatabaseName, spec: Spec): Claim {
  const { className } = spec.storage;
  return {
    metadata: { name: objectNames(database).backups, labels: selectorLabels(database) },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: String(spec.backup.size) } },
      ...(className === undefined ? {} : { storageClassName: className }),
    },
  };
}
