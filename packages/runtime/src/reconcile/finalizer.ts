/** The finalizer of a controller: set before anything else is written, removed only when nothing is left to do. */
import { isConflict } from "@keelson/client";
import type { AnyKind, JsonObject, Stored } from "@keelson/core";
import type { TrackedClient } from "../cache/tracked-client.ts";

export function hasFinalizer(object: Stored, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

export interface FinalizerOptions {
  readonly kind: AnyKind;
  readonly client: TrackedClient;
  readonly finalizer: string;
  readonly fieldManager: string;
  readonly signal: AbortSignal;
}

/** The object with our finalizer on it. */
export async function addFinalizer(object: Stored, options: FinalizerOptions): Promise<Stored> {
  return await replaceFinalizers(object, options, [...(object.metadata.finalizers ?? []), options.finalizer]);
}

/** How often someone else's edit between our read and our write is met before the queue takes over. */
const attempts = 4;

export async function removeFinalizer(object: Stored, options: FinalizerOptions): Promise<void> {
  const { client, kind, finalizer, signal } = options;
  const ref = { namespace: object.metadata.namespace, name: object.metadata.name };
  let current: Stored | undefined = object;
  for (let attempt = 1; current && hasFinalizer(current, finalizer); attempt++) {
    const rest = (current.metadata.finalizers ?? []).filter((each) => each !== finalizer);
    try {
      await replaceFinalizers(current, options, rest);
      return;
    } catch (error) {
      if (!isConflict(error) || attempt === attempts) throw error;
      current = (await client.kind(kind).find(ref, { signal })) as Stored | undefined;
      if (current?.metadata.uid !== object.metadata.uid) return;
    }
  }
}

/** The list has one writer at a time: an edit since our read is a conflict, not an overwrite. */
async function replaceFinalizers(
  object: Stored,
  options: FinalizerOptions,
  finalizers: string[],
): Promise<Stored> {
  const { client, kind, fieldManager, signal } = options;
  const { name, namespace, uid, resourceVersion } = object.metadata;
  const body: JsonObject = { metadata: { uid, resourceVersion, finalizers } };
  return (await client
    .kind(kind)
    .patch({ namespace, name }, { type: "merge", body }, { fieldManager, signal })) as Stored;
}
