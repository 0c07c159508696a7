/** The volumes: one for each server, and one for backups. */
import { type Desired, Quantity } from "keelson";
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

export function backupsClaim(database: DatabaseName, { size, className }: Spec["storage"]): Claim {
  return {
    metadata: { name: objectNames(database).backups, labels: selectorLabels(database) },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: String(size) } },
      ...(className === undefined ? {} : { storageClassName: className }),
    },
  };
}

/** A claim as far as its size goes: what it asks for. */
interface Sized {
  readonly requested: string;
  readonly deleting: boolean;
}

/** The smallest that a server has; undefined while there is none. No new one is smaller. */
function smallest(claims: Iterable<Sized>): Quantity | undefined {
  const sizes = [...claims]
    .filter(({ deleting }) => !deleting)
    .map(({ requested }) => Quantity.from(requested));
  return sizes.reduce<Quantity | undefined>(
    (least, each) => (least === undefined || each.compare(least) < 0 ? each : least),
    undefined,
  );
}

export function sizeOfNewClaim({ storage }: Pick<Spec, "storage">, claims: Iterable<Sized>): string {
  const least = smallest(claims);
  const isSmaller = least !== undefined && Quantity.from(String(storage.size)).compare(least) < 0;
  return isSmaller ? least.toString() : String(storage.size);
}

/** Why a size cannot be had, as a sentence. */
export function sizeProblem(spec: Pick<Spec, "storage">, claims: Iterable<Sized>): string | undefined {
  const size = sizeOfNewClaim(spec, claims);
  if (Quantity.from(size).compare(Quantity.from(String(spec.storage.size))) === 0) return undefined;
  return (
    `volumes cannot shrink: those of the servers have ${size}, and spec.storage.size is ${spec.storage.size}; ` +
    `set spec.storage.size to ${size}, or restore a backup into a new SampleDB`
  );
}
