/** Server-side apply with as few requests as that takes: what is there already is not sent. */

import { hash } from "node:crypto";
import { isRefused } from "@keelson/client";
import {
  type AnyKind,
  deepEqual,
  groupKind,
  type JsonObject,
  type JsonValue,
  objectKey,
  parseJson,
  type Stored,
} from "@keelson/core";
import type { Informer } from "../cache/informer.ts";
import { extract, intentOf } from "../cache/managed-fields.ts";
import type { TrackedClient } from "../cache/tracked-client.ts";

/** What the last apply of an object said and gave. */
interface AppliedRecord {
  readonly uid: string;
  /** Digest of the body that was applied. */
  readonly intent: string;
  /** Digest of what the server made of it: the fields we own, with the server's own spelling of values. */
  readonly result: string;
  /** The version at which both were last compared. */
  version: string;
}

/** What a child's body was made of, beside what a controller always says, and the child that it was found to match. */
export interface Origin {
  readonly ownerUid: string;
  readonly slot: string;
  readonly key: string;
  /** A copy, in which JSON finds nothing that it cannot carry. */
  readonly desired: object;
  readonly uid: string;
  readonly version: string;
}

/** Records of all children of one controller, kept from run to run. Losing them costs reads, never correctness. */
export class AppliedRecords {
  readonly #records = new Map<string, AppliedRecord>();
  readonly #origins = new Map<string, Origin>();

  origin(kind: AnyKind, key: string): Origin | undefined {
    return this.#origins.get(`${groupKind(kind)}|${key}`);
  }

  setOrigin(kind: AnyKind, key: string, origin: Origin): void {
    this.#origins.set(`${groupKind(kind)}|${key}`, origin);
  }

  get(kind: AnyKind, key: string): AppliedRecord | undefined {
    return this.#records.get(`${groupKind(kind)}|${key}`);
  }

  set(kind: AnyKind, key: string, record: AppliedRecord): void {
    this.#records.set(`${groupKind(kind)}|${key}`, record);
  }

  /** The origin alone says enough. */
  unset(kind: AnyKind, key: string): void {
    this.#records.delete(`${groupKind(kind)}|${key}`);
  }

  delete(kind: AnyKind, key: string): void {
    this.#records.delete(`${groupKind(kind)}|${key}`);
    this.#origins.delete(`${groupKind(kind)}|${key}`);
  }
}

export interface AppliedObjectsOptions {
  readonly client: TrackedClient;
  readonly records: AppliedRecords;
  readonly fieldManager: string;
}

export interface SendOptions {
  readonly force: boolean;
  readonly signal: AbortSignal;
  /** The caller keeps the origin, and asks `has` only when that or the object's version has changed. */
  readonly remembers?: boolean;
}

/** The informers that it is handed remember the fields of the same field manager. */
export class AppliedObjects {
  readonly #options: AppliedObjectsOptions;
  /** What dry runs said, by object: valid for the version and the body that they were made with. */
  readonly #dryRuns = new Map<string, { readonly of: string; readonly changes: boolean }>();

  constructor(options: AppliedObjectsOptions) {
    this.#options = options;
  }

  /**
   * Whether an apply of this body would change nothing. Either what we own of the object is the very body, or it
   * is what the server made of the same body last time. Fields that others changed are no longer ours, so drift
   * shows as a difference; fields that others added are not looked at.
   */
  has(informer: Informer, body: JsonObject, seen: Stored): boolean {
    const { records } = this.#options;
    const key = objectKey(seen);
    const intent = digest(intentOf(body));
    const record = records.get(informer.kind, key);
    const known = record?.uid === seen.metadata.uid && record.intent === intent ? record : undefined;
    const version = seen.metadata.resourceVersion;
    if (known?.version === version) return true;
    const result = this.#owned(informer, seen);
    if (result === undefined) return false;
    if (result !== intent && known?.result !== result) return false;
    records.set(informer.kind, key, { uid: seen.metadata.uid, intent, result, version });
    return true;
  }

  async send(
    informer: Informer,
    body: JsonObject,
    { force, signal, remembers = false }: SendOptions,
  ): Promise<Stored> {
    const { client, records, fieldManager } = this.#options;
    const { kind } = informer;
    const served = (await client.kind(kind).apply(body, { force, signal, fieldManager })) as Stored;
    const key = objectKey(served);
    // What we own now is the very body, unless the server has its own spelling for something.
    const isVery = isTakenOver(body, served);
    if (isVery && remembers) {
      records.unset(kind, key);
      return served;
    }
    const { uid, resourceVersion: version } = served.metadata;
    const intent = digest(intentOf(body));
    const result = isVery ? intent : (this.#owned(informer, served) ?? "");
    records.set(kind, key, { uid, intent, result, version });
    return served;
  }

  /**
   * Whether an apply of this body would change the object, no matter who owns its fields. The server is asked by a dry run
   * where the cache cannot tell; an apply that it refuses (a field is immutable) counts as a change.
   */
  async wouldChange(
    informer: Informer,
    body: JsonObject,
    seen: Stored,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<boolean> {
    if (this.has(informer, body, seen)) return false;
    const key = `${groupKind(informer.kind)}|${objectKey(seen)}`;
    const of = `${seen.metadata.uid}@${seen.metadata.resourceVersion} ${digest(intentOf(body))}`;
    const known = this.#dryRuns.get(key);
    if (known?.of === of) return known.changes;
    const { client, fieldManager } = this.#options;
    let changes: boolean;
    try {
      const bound = { ...body, metadata: { ...(body.metadata as JsonObject), uid: seen.metadata.uid } };
      const options = { force: true, dryRun: true, signal, fieldManager };
      const served = (await client.kind(informer.kind).apply(bound, options)) as Stored;
      changes = !deepEqual(content(served), content(seen));
    } catch (error) {
      if (!isRefused(error)) throw error;
      changes = true;
    }
    this.#dryRuns.set(key, { of, changes });
    return changes;
  }

  /** Nothing is remembered of an object that is gone. */
  forget(kind: AnyKind, key: string): void {
    this.#options.records.delete(kind, key);
    this.#dryRuns.delete(`${groupKind(kind)}|${key}`);
  }

  /** Digest of what we own of an object, as the cache remembers it. */
  #owned(informer: Informer, object: Stored): string | undefined {
    const fields = informer.cache.ownedFields(objectKey(object));
    if (fields === undefined) return undefined;
    const owned = extract(object as unknown as JsonValue, parseJson(fields) as JsonObject);
    return digest(intentOf(owned as JsonObject));
  }
}

/** Whether all that a body says stands in the object as it was said. Lists must be the same: who owns an item is not asked. */
function isTakenOver(body: JsonObject, served: Stored): boolean {
  const { apiVersion: _, kind: __, metadata, ...rest } = body;
  const { name: ___, namespace: ____, uid: _____, resourceVersion: ______, ...meta } = metadata as JsonObject;
  return isWithin(rest, served) && isWithin(meta, served.metadata);
}

function isWithin(said: JsonValue | undefined, there: unknown): boolean {
  if (typeof said !== "object" || said === null || Array.isArray(said)) return deepEqual(said, there);
  if (typeof there !== "object" || there === null || Array.isArray(there)) return false;
  for (const key in said) {
    const item = said[key];
    if (item !== undefined && !isWithin(item, (there as Record<string, unknown>)[key])) return false;
  }
  return true;
}

function digest(text: string): string {
  return hash("sha256", text, "base64");
}

/** An object without what the server keeps for itself. */
function content(object: Stored): JsonValue {
  const { managedFields: _, resourceVersion: __, generation: ___, ...metadata } = object.metadata;
  return { ...object, metadata } as unknown as JsonValue;
}
