/** Replaces the status of a parent, and only when that changes it. */
import { isConflict, isNotFound } from "@keelson/client";
import {
  type AnyKind,
  canonicalJson,
  deepEqual,
  type JsonObject,
  objectKey,
  type Stored,
} from "@keelson/core";
import type { RawContext } from "@keelson/runtime/internal";
import type { AnyObject } from "../api/resources.ts";
import { HookError } from "../errors.ts";

/** How often someone else's edit between our read and our write is met before the queue takes over. */
const attempts = 4;

/** What was sent for each parent and what the server made of it: it may leave fields out that its schema lacks. */
export class StatusMemory {
  readonly #sent = new Map<
    string,
    { readonly uid: string; readonly sent: string; readonly stored: string }
  >();

  has(parent: AnyObject, status: JsonObject): boolean {
    const known = this.#sent.get(objectKey(parent));
    return (
      known?.uid === parent.metadata.uid &&
      known.sent === canonicalJson(status) &&
      known.stored === canonicalJson((parent.status ?? {}) as JsonObject)
    );
  }

  set(parent: AnyObject, status: JsonObject, stored: JsonObject): void {
    this.#sent.set(objectKey(parent), {
      uid: parent.metadata.uid,
      sent: canonicalJson(status),
      stored: canonicalJson(stored),
    });
  }

  forget(key: string): void {
    this.#sent.delete(key);
  }
}

/** `parent` is the parent as the cache shows it now. */
export async function replaceStatus(
  ctx: RawContext,
  kind: AnyKind,
  parent: AnyObject,
  status: JsonObject,
  memory: StatusMemory,
): Promise<void> {
  if (deepEqual((parent.status ?? {}) as JsonObject, status) || memory.has(parent, status)) return;
  const verbs = ctx.kind(kind);
  const { namespace, name, uid } = parent.metadata;
  let current: AnyObject | undefined = parent;
  for (let attempt = 1; current?.metadata.uid === uid; attempt++) {
    try {
      const written = (await verbs
        .subresource("status")
        .update({ ...current, status })) as unknown as AnyObject;
      memory.set(written, status, (written.status ?? {}) as JsonObject);
      return;
    } catch (error) {
      if (isNotFound(error)) {
        if (!(await verbs.find({ namespace, name }))) return;
        throw new HookError(
          "InvalidDefinition",
          `${kind.kind} has no status subresource, so its status cannot be set; add it to its CustomResourceDefinition`,
          { cause: error },
        );
      }
      if (!isConflict(error) || attempt === attempts) throw error;
      current = (await verbs.find({ namespace, name })) as AnyObject | undefined;
    }
  }
}

/** Puts a condition into a status that a hook made: in place of one of its type, or behind the others. */
export function withCondition(status: JsonObject, condition: JsonObject): JsonObject {
  const given = Array.isArray(status.conditions) ? status.conditions : [];
  const isOfType = (each: unknown) => (each as { type?: unknown } | null)?.type === condition.type;
  const conditions = given.some(isOfType)
    ? given.map((each) => (isOfType(each) ? condition : each))
    : [...given, condition];
  return { ...status, conditions };
}

/** The finalizers of a parent, changed by one name. The list has one writer at a time: an edit meanwhile is a conflict. */
export async function setFinalizer(
  ctx: RawContext,
  kind: AnyKind,
  parent: Stored,
  finalizer: string,
  present: boolean,
): Promise<Stored> {
  const { namespace, name, uid, resourceVersion, finalizers = [] } = parent.metadata;
  const others = finalizers.filter((each) => each !== finalizer);
  const body = { metadata: { uid, resourceVersion, finalizers: present ? [...others, finalizer] : others } };
  return (await ctx.kind(kind).patch({ namespace, name }, { type: "merge", body })) as Stored;
}
