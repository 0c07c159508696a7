/** What lies on the volumes of a simulation: the data of servers, and backups. */

/** What lies on a server's volume. */
export interface Files {
  readonly keys: Map<string, string>;
  /** The version that wrote it: an older one cannot read it. */
  version: string;
  /** The plans that were carried out, by id. */
  readonly plans: Set<string>;
  /** The backup that the data came from; empty when it came from none. Replicas have that of their primary. */
  lineage: string;
  /** What a server that starts now finds: one that was given a full copy has not written it yet. */
  before: { readonly keys: ReadonlyMap<string, string>; readonly lineage: string } | undefined;
  /** What restores set aside, by name. */
  readonly asides: Map<string, { readonly keys: ReadonlyMap<string, string>; readonly lineage: string }>;
}

export function cloned({ keys, plans, asides, ...rest }: Files): Files {
  return { ...rest, keys: new Map(keys), plans: new Set(plans), asides: new Map(asides) };
}

export function newFiles(version: string): Files {
  return { keys: new Map(), version, plans: new Set(), lineage: "", before: undefined, asides: new Map() };
}

/** A backup as it lies in its store. */
export interface Dump {
  readonly keys: ReadonlyMap<string, string>;
  readonly version: string;
  readonly backupUid: string;
  readonly takenAt: string;
  readonly verified: boolean;
}

/** The content of a volume of backups, by the name of each in the store. */
export type Archive = Map<string, Dump>;
