/** The owners of an instance's pod. */
import type { ObjectMeta } from "keelson";
import { Database, type DatabaseObject } from "../api/database.ts";
import type { DatabaseContext } from "./declaration.ts";

/**
 * Two owners. The Database is the controller: a drain looks for it. But a Database that is deleted in the foreground
 * would lose its instances before its last backup, so the Service of their names, which stays until the end, owns them
 * as well. While it is deleted, that one is the only owner.
 */
export function ownersOf(
  { metadata }: DatabaseObject,
  ctx: DatabaseContext,
): NonNullable<ObjectMeta["ownerReferences"]> {
  const { name, uid, deletionTimestamp } = metadata;
  const apiVersion = `${Database.group}/${Database.version}`;
  const controller = {
    ...{ apiVersion, kind: Database.kind, name, uid },
    ...{ controller: true, blockOwnerDeletion: true },
  };
  const names = ctx.own.names.get()?.metadata;
  return [
    ...(deletionTimestamp === undefined ? [controller] : []),
    ...(names ? [{ apiVersion: "v1", kind: "Service", name: names.name, uid: names.uid }] : []),
  ];
}
