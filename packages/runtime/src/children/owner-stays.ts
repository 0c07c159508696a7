/** Whether an owner is still there: nothing is made for one that is gone, and nothing is bound to one that is going. */
import { groupKind, objectKey, type Stored } from "@keelson/core";
import type { TrackedClient } from "../cache/tracked-client.ts";
import type { Controller } from "../controller/controller.ts";
import { RuntimeError } from "../errors.ts";

export interface OwnerOptions {
  readonly controller: Controller;
  /** As the reconcile found it. */
  readonly owner: Stored;
  readonly client: TrackedClient;
  readonly signal: AbortSignal;
}

/** Asks the server, of whose answer our watch may not know yet. Throws `OwnerGone`. */
export async function assertOwnerStays({ controller, owner, client, signal }: OwnerOptions): Promise<void> {
  const { namespace, name } = owner.metadata;
  refuseIfGone(controller, owner, await client.kind(controller.kind).find({ namespace, name }, { signal }));
}

/** What is made for an owner that is gone would be collected; for one that is going it would hold it up. */
export function refuseIfGone(controller: Controller, owner: Stored, now: Stored | undefined): void {
  const { uid, deletionTimestamp } = owner.metadata;
  const isGoing = deletionTimestamp === undefined && now?.metadata.deletionTimestamp !== undefined;
  if (now?.metadata.uid === uid && !isGoing) return;
  const what = `${groupKind(controller.kind)} ${objectKey(owner)}`;
  throw new RuntimeError(
    "OwnerGone",
    `${what} was deleted while it was reconciled; nothing more is made for it`,
  );
}
