/** Follows one object by its name: for those few that an operator keeps beside its caches. */
import type { Client } from "@keelson/client";
import { type AnyKind, groupKind, keyOf, type Stored } from "@keelson/core";
import type { Logger } from "../log/logger.ts";

export interface FollowOptions {
  readonly client: Client;
  readonly kind: AnyKind;
  readonly name: string;
  readonly namespace?: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Called with each state; undefined when there is none. */
  readonly see: (object: Stored | undefined) => void;
  /** Why it cannot be followed; undefined when it can again. */
  readonly fail: (error: Error | undefined) => void;
}

/** Resolves when `signal` ends it. */
export async function follow(options: FollowOptions): Promise<void> {
  const { client, kind, name, namespace, log, signal, see, fail } = options;
  const events = client.kind(kind).reflect({
    ...(namespace === undefined ? {} : { namespace }),
    fields: `metadata.name=${name}`,
    initial: "list",
    signal,
  });
  let seen = false;
  try {
    for await (const event of events) {
      if (event.type === "restart") seen = false;
      else if (event.type === "item" || event.type === "added" || event.type === "modified") {
        seen = true;
        see(event.object as Stored);
      } else if (event.type === "deleted" || (event.type === "synced" && !seen)) see(undefined);
      else if (event.type === "resumed") fail(undefined);
      else if (event.type === "interrupted") {
        log.warn(`cannot watch ${groupKind(kind)} ${keyOf({ namespace, name })}`, { error: event.error });
        fail(event.error);
      }
    }
  } catch (error) {
    if (signal.aborted) return;
    log.error(`${groupKind(kind)} ${keyOf({ namespace, name })} cannot be watched any more`, { error });
    fail(error as Error);
  }
}
