/** Lists: what is there now, or was there at a revision, in pages of one snapshot. */
import type { JsonObject } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import { badRequest, expired, timeout } from "../contracts/status-error.ts";
import type { Store } from "../storage/store.ts";
import type { Entries, Table } from "../storage/table.ts";
import { type ContinueToken, decodeContinue, encodeContinue } from "./continue-token.ts";
import { type ListOptions, parseRevision } from "./list-options.ts";
import type { Selection } from "./selection.ts";

export interface ListResult {
  readonly metadata: JsonObject;
  readonly items: readonly ApiObject[];
}

/** `prefix` is `namespace/`, or empty for all. */
export function listObjects(
  store: Store,
  table: Table,
  prefix: string,
  selection: Selection,
  options: ListOptions,
): ListResult {
  if (options.continue) return continued(store, table, prefix, selection, options);
  const requested = parseRevision(options.resourceVersion) ?? 0;
  if (requested > store.revision) throw tooLarge(requested, store.revision);
  const exact =
    options.resourceVersionMatch === "Exact" ||
    (requested > 0 && options.resourceVersionMatch === "" && options.limit > 0);
  if (!exact) return page(entriesNow(table, prefix, selection), store.revision, prefix, selection, options);
  const entries = table.rangeAt(requested, prefix);
  if (!entries) throw expired(`The resourceVersion for the provided list is too old.`);
  return page(entriesOf(entries), requested, prefix, selection, options);
}

function continued(
  store: Store,
  table: Table,
  prefix: string,
  selection: Selection,
  options: ListOptions,
): ListResult {
  if (options.resourceVersion !== "" && options.resourceVersion !== "0")
    throw badRequest("specifying resource version is not allowed when using continue");
  const token = decodeContinue(options.continue);
  const inconsistent = token.revision < 0;
  const revision = inconsistent ? store.revision : token.revision;
  const start = prefix + token.start;
  // Nothing has changed since the first page more often than not.
  if (inconsistent || revision >= table.lastRevision)
    return page(table.view(prefix, start), revision, prefix, selection, options);
  const entries = table.rangeAt(revision, prefix);
  if (!entries) throw expiredToken(token);
  return page(entriesOf(entries.filter(([key]) => key >= start)), revision, prefix, selection, options);
}

function entriesOf(entries: readonly [string, ApiObject][]): Entries {
  const at = (index: number) => entries[index] as [string, ApiObject];
  return { length: entries.length, key: (index) => at(index)[0], object: (index) => at(index)[1] };
}

function entriesNow(table: Table, prefix: string, selection: Selection): Entries {
  // One object by name needs no scan.
  if (selection.name !== undefined && prefix !== "") {
    const key = prefix + selection.name;
    const object = table.get(key);
    return entriesOf(object ? [[key, object]] : []);
  }
  return table.view(prefix);
}

function page(
  entries: Entries,
  revision: number,
  prefix: string,
  selection: Selection,
  { limit }: ListOptions,
): ListResult {
  const items: ApiObject[] = [];
  let taken = 0;
  for (; taken < entries.length; taken++) {
    if (limit > 0 && items.length >= limit) break;
    const object = entries.object(taken);
    if (selection.empty || selection.matches(object)) items.push(object);
  }
  const metadata: JsonObject = { resourceVersion: String(revision) };
  if (taken < entries.length) {
    const last = entries.key(taken - 1);
    metadata.continue = encodeContinue({ revision, start: `${last.slice(prefix.length)}\0` });
    // How many more match a selector is not known without looking at them.
    if (selection.empty) metadata.remainingItemCount = entries.length - taken;
  }
  return { metadata, items };
}

export function tooLarge(requested: number, current: number) {
  return timeout(`Too large resource version: ${requested}, current: ${current}`, 1, [
    { reason: "ResourceVersionTooLarge", message: "Too large resource version" },
  ]);
}

function expiredToken(token: ContinueToken) {
  return expired(
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    { continue: encodeContinue({ revision: -1, start: token.start }) },
  );
}
