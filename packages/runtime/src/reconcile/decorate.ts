/** Labels and annotations that a controller puts on objects of another's. */
import { apiVersionOf, deepEqual, type JsonObject, type Stored } from "@keelson/core";
import { appliedBy } from "../cache/managed-fields.ts";
import type { Decoration } from "../controller/context.ts";
import type { FinalizerOptions } from "./finalizer.ts";

export interface DecorateOptions extends FinalizerOptions {
  /** What was last found on each object, by uid. Losing it costs a read. */
  readonly memory: Map<string, string>;
}

/**
 * Applies what a reconcile asked for, and takes away what it no longer asks for: fields of ours that an apply leaves
 * out go, those of others stay. Sends nothing when the object shows all of it and nothing else of ours.
 */
export async function decorate(
  object: Stored,
  decorations: readonly Decoration[],
  options: DecorateOptions,
): Promise<void> {
  const { client, kind, fieldManager, signal, memory } = options;
  const labels = Object.assign({}, ...decorations.map((each) => each.labels));
  const annotations = Object.assign({}, ...decorations.map((each) => each.annotations));
  const wanted: JsonObject = {
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
  };
  const { name, namespace, uid } = object.metadata;
  const ref = { namespace, name };
  // Past the cache, which drops managed fields: what is ours decides, and it is asked for only where it may differ.
  const mark = JSON.stringify(wanted);
  if (covers(object, wanted) && memory.get(uid) === mark) return;
  const live = (await client.client.kind(kind).find(ref, { signal })) as Stored | undefined;
  if (live?.metadata.uid !== uid) return;
  const ours = (appliedBy(live, fieldManager)?.metadata ?? {}) as JsonObject;
  if (
    !deepEqual({ labels: ours.labels ?? {}, annotations: ours.annotations ?? {} }, { labels, annotations })
  ) {
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }), uid, ...wanted };
    const body = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata };
    await client.kind(kind).apply(body as never, { force: true, fieldManager, signal });
  }
  memory.set(uid, mark);
}

function covers(object: Stored, wanted: JsonObject): boolean {
  return (["labels", "annotations"] as const).every((part) =>
    Object.entries((wanted[part] ?? {}) as Record<string, string>).every(
      ([key, value]) => object.metadata[part]?.[key] === value,
    ),
  );
}
