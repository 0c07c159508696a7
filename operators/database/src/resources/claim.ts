/** The claim of one instance. */
import type { Desired } from "keelson";
import type { PersistentVolumeClaim } from "keelson/kinds";
import type { Spec } from "../api/database.ts";
import { annotations } from "../api/names.ts";
import { type DatabaseName, selectorLabels } from "./names.ts";

export function claimFor(
  database: DatabaseName,
  instance: string,
  storage: Spec["storage"],
  systemId: string | undefined,
): Desired<typeof PersistentVolumeClaim> {
  return {
    metadata: {
      name: instance,
      labels: selectorLabels(database),
      annotations: {
        [annotations.databaseUid]: database.uid,
        ...(systemId !== undefined && { [annotations.systemId]: systemId }),
      },
    },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: storage.size } },
      ...(storage.className === undefined ? {} : { storageClassName: storage.className }),
    },
  };
}
