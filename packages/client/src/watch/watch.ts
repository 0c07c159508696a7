/** `watch()`: the events of one connection. */
import { type AnyKind, type KubeObject, resourcePath } from "@keelson/core";
import type { WatchEvent, WatchOptions } from "../client/client.ts";
import { selected, selectQuery, withQuery } from "../client/paths.ts";
import { ClientError } from "../errors.ts";
import type { ObjectEvent } from "../objects/receive.ts";
import { Decoding } from "../objects/received.ts";
import { Slices } from "../objects/slices.ts";
import type { Requester } from "../request/requester.ts";
import { WatchConnection } from "./connection.ts";

/** What asks for metadata only; a server that cannot sends whole objects, which are trimmed here. */
export const metadataAccept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

export async function* watch(
  requester: Requester,
  kind: AnyKind,
  options: WatchOptions,
): AsyncGenerator<WatchEvent<KubeObject>, void, void> {
  const doing = `watch ${selected(kind, options)}`;
  if (options.resourceVersion === "0") {
    throw new ClientError(
      "InvalidRequest",
      `cannot ${doing}: resourceVersion "0" may begin before what you have seen; leave it out for the latest state`,
    );
  }
  const slices = new Slices(requester.settings.clock);
  let connection: WatchConnection | undefined;
  try {
    connection = await WatchConnection.open({
      requester,
      doing,
      path: withQuery(resourcePath(kind, options.namespace), {
        watch: true,
        ...selectQuery(options),
        resourceVersion: options.resourceVersion,
        allowWatchBookmarks: options.bookmarks || options.initialEvents || undefined,
        sendInitialEvents: options.initialEvents || undefined,
        resourceVersionMatch: options.initialEvents ? "NotOlderThan" : undefined,
      }),
      accept: options.metadataOnly ? metadataAccept : "application/json",
      decoding: new Decoding({ kind, metadataOnly: options.metadataOnly }),
      signal: options.signal,
    });
    for (;;) {
      for (let event = connection.take(); event !== undefined; event = connection.take()) {
        yield "received" in event ? { type: changeOf(event), object: event.object } : event;
        if (slices.due(connection.taken)) await slices.rest();
      }
      slices.pause();
      if (!(await connection.fill())) return;
      slices.resume();
    }
  } catch (error) {
    if (!options.signal?.aborted) throw error;
  } finally {
    await connection?.close();
  }
}

/** A watch of one connection builds no state, and so has no items. */
function changeOf({ type }: ObjectEvent): "added" | "modified" | "deleted" {
  return type === "item" ? "added" : type;
}
