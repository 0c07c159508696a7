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

/** Shows a stored object in the request's version. */
export type Show = (object: ApiObject) => ApiObject | Promise<ApiObject>;

/**
 * `prefix` is `namespace/`, or empty for all. Objects are as stored, or as shown where the selection needs that.
 */
export function listObjects(
  store: Store,
  table: Table,
  prefix: string,
  selection: Selection,
  options: ListOptions,
  show: Show,
): ListResult | Promise<ListResult> {
  const { entries, revision } = entriesFor(store, table, prefix, selection, options);
  return selection.ofVersion
    ? pageShown(entries, revision, prefix, selection, options, show)
    : page(entries, revision, prefix, selection, options);
}

interface Snapshot {
  readonly entries: Entries;
  readonly revision: number;
}

function entriesFor(
  store: Store,
  table: Table,
  prefix: string,
  selection: Selection,
  options: ListOptions,
): Snapshot {
  if (options.continue) return continued(store, table, prefix, options);
  const requested = parseRevision(options.resourceVersion) ?? 0;
  if (requested > store.revision) throw tooLarge(requested, store.revision);
  const exact =
    options.resourceVersionMatch === "Exact" ||
    (requested > 0 && options.resourceVersionMatch === "" && options.limit > 0);
  if (!exact) return { entries: entriesNow(table, prefix, selection), revision: store.revision };
  const entries = table.rangeAt(requested, prefix);
  if (!entries) throw expired(`The resourceVersion for the provided list is too old.`);
  return { entries: entriesOf(entries), revision: requested };
}

function continued(store: Store, table: Table, prefix: string, options: ListOptions): Snapshot {
  if (options.resourceVersion !== "" && options.resourceVersion !== "0")
    throw badRequest("specifying resource version is not allowed when using continue");
  const token = decodeContinue(options.continue);
  const inconsistent = token.revision < 0;
  const revision = inconsistent ? store.revision : token.revision;
  const start = prefix + token.start;
  // Nothing has changed since the first page more often than not.
  if (inconsistent || revision >= table.lastRevision) return { entries: table.view(prefix, start), revision };
  const entries = table.rangeAt(revision, prefix);
  if (!entries) throw expiredToken(token);
  return { entries: entriesOf(entries.filter(([key]) => key >= start)), revision };
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
  return { metadata: pageMetadata(entries, taken, revision, prefix, selection), items };
}

/** As `page`, for what a webhook may have to convert. What else is written meanwhile is not seen. */
async function pageShown(
  entries: Entries,
  revision: number,
  prefix: string,
  selection: Selection,
  { limit }: ListOptions,
  show: Show,
): Promise<ListResult> {
  const frozen = entriesOf(
    Array.from({ length: entries.length }, (_, index) => [entries.key(index), entries.object(index)]),
  );
  const items: ApiObject[] = [];
  let taken = 0;
  for (; taken < frozen.length; taken++) {
    if (limit > 0 && items.length >= limit) break;
    const object = await show(frozen.object(taken));
    if (selection.matches(object)) items.push(object);
  }
  return { metadata: pageMetadata(frozen, taken, revision, prefix, selection), items };
}

function pageMetadata(
  entries: Entries,
  taken: number,
  revision: number,
  prefix: string,
  selection: Selection,
): JsonObject {
  const metadata: JsonObject = { resourceVersion: String(revision) };
  if (taken < entries.length) {
    const last = entries.key(taken - 1);
    metadata.continue = encodeContinue({ revision, start: `${last.slice(prefix.length)}\0` });
    // How many more match a selector is not known without looking at them.
    if (selection.empty) metadata.remainingItemCount = entries.length - taken;
  }
  return metadata;
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
