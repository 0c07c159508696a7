/** Keeps a map in step with what the API shows of one kind. */
import type { ReflectEvent } from "@keelson/client";
import type { Stored } from "@keelson/core";

/** By namespace and name. */
export async function follow<T extends Stored>(
  events: AsyncIterable<ReflectEvent<T>>,
  state: Map<string, T>,
  onChange: () => void,
  onSynced: () => void,
): Promise<void> {
  let next: Map<string, T> | undefined;
  const keyOf = ({ metadata }: T) => `${metadata.namespace}/${metadata.name}`;
  for await (const event of events) {
    if (event.type === "restart") next = new Map();
    else if (event.type === "item") next?.set(keyOf(event.object), event.object);
    else if (event.type === "synced") {
      state.clear();
      for (const [key, object] of next ?? []) state.set(key, object);
      next = undefined;
      onChange();
      onSynced();
    } else if (event.type === "added" || event.type === "modified") {
      state.set(keyOf(event.object), event.object);
      onChange();
    } else if (event.type === "deleted") {
      if (next !== undefined) next.delete(keyOf(event.object));
      else {
        state.delete(keyOf(event.object));
        onChange();
      }
    }
  }
}
