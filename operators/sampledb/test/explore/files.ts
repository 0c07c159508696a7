/** What lies on the volumes of a simulation: the data of servers, and backups. */
import { schemaKey } from "../../src/agent/initialize.ts";

/** What a server finds when it starts. */
export interface Content {
  readonly keys: ReadonlyMap<string, string>;
  /** The backup that the data came from; empty when it came from none. Replicas have that of their primary. */
  readonly lineage: string;
  /** The version that wrote the files: an older one cannot read them. A newer one that starts leaves them as they are. */
  readonly version: string;
}

/** What lies on a server's volume. */
export interface Files {
  readonly keys: Map<string, string>;
  lineage: string;
  version: string;
  /** Given to the volume by the first start; empty before it. */
  identity: string;
  /** The version that started last, as the start script notes it. */
  started: string;
  /** The restores that were carried out, by id. */
  readonly plans: Set<string>;
  /** What a server that starts now finds: one that was given a full copy has not written it yet. */
  before: Content | undefined;
  /** What restores set aside, by name. */
  readonly asides: Map<string, Content>;
  /** The name under which a restore has set the data aside, and nothing is in its place. */
  unfinished: string | undefined;
}

/** What a restore has set aside and nothing replaced is the data again. */
export function putBack(files: Files): void {
  if (files.unfinished !== undefined) files.asides.delete(files.unfinished);
  files.unfinished = undefined;
}

export function cloned({ keys, plans, asides, ...rest }: Files): Files {
  return { ...rest, keys: new Map(keys), plans: new Set(plans), asides: new Map(asides) };
}

export function contentOf({ keys, lineage, version }: Files): Content {
  return { keys: new Map(keys), lineage, version };
}

/** The migrations that ran, which are recorded with the data. */
export function migrationsIn({ keys }: Pick<Content, "keys">): readonly number[] {
  return keys.get(schemaKey)?.split(",").map(Number) ?? [];
}

export function newFiles(version: string): Files {
  return {
    ...{ keys: new Map(), lineage: "", version, identity: "", started: "" },
    ...{ plans: new Set(), before: undefined, asides: new Map(), unfinished: undefined },
  };
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
