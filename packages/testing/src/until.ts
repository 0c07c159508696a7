/** Waits for the world to be as a test expects, by watching it. */
import type { Client } from "@keelson/client";
import type { AnyKind, ObjectOf, ObjectRef } from "@keelson/core";

/** How long to wait, and what to say when it was in vain. */
export interface UntilOptions {
  /** Gives up after this long and says what was last seen. Default: 30 s. */
  readonly timeoutMs?: number;
}

/**
 * Follows one object until `accept` holds for it; `undefined` stands for its absence.
 * Resolves with the object that was accepted.
 */
export async function until<K extends AnyKind>(
  client: Client,
  kind: K,
  ref: ObjectRef,
  accept: (object: ObjectOf<K> | undefined) => boolean,
  options: UntilOptions = {},
): Promise<ObjectOf<K> | undefined> {
  const timeoutMs = options.timeoutMs ?? 30_000;
  const signal = AbortSignal.timeout(timeoutMs);
  const verbs = client.kind(kind);
  let last: ObjectOf<K> | undefined;
  try {
    for (;;) {
      last = await verbs.find(ref, { signal });
      if (accept(last)) return last;
      const watch = verbs.watch({
        ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }),
        fields: `metadata.name=${ref.name}`,
        ...(last ? { resourceVersion: last.metadata.resourceVersion } : {}),
        signal,
      });
      for await (const event of watch) {
        if (event.type === "error") break;
        if (event.type === "bookmark") continue;
        last = event.type === "deleted" ? undefined : event.object;
        if (accept(last)) return last;
      }
    }
  } catch (cause) {
    if (!signal.aborted) throw cause;
    throw new Error(
      `${kind.kind} ${ref.namespace ?? ""}/${ref.name} did not become as expected in ${timeoutMs} ms; last seen: ` +
        (last === undefined ? "absent" : JSON.stringify(last, withoutManagedFields)),
      { cause },
    );
  }
}

function withoutManagedFields(key: string, value: unknown): unknown {
  return key === "managedFields" ? undefined : value;
}
