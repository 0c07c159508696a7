/** JSON patch (RFC 6902) with the API server's reading of it. */

import { deepCopy, deepEqual, isObject } from "../json.ts";
import { lookupTable } from "../lookup-table.ts";
import { byteLength } from "../names.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { setKey } from "../set-key.ts";
import { MergeError } from "./errors.ts";

/** One operation of a JSON patch (RFC 6902). */
export interface JsonPatchOperation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: JsonValue;
}

/** More operations than this are refused by the API server with 413. */
export const maxJsonPatchOperations = 10_000;

/** How much larger, in bytes of JSON, all copies of a patch together may make the document. */
const maxCopiedBytes = 3 * 1024 * 1024;

type Container = JsonObject | JsonValue[];
/** Holds the document, so that an operation may replace it whole. */
interface Box {
  root: Container;
  copiedBytes: number;
}

function failed(message: string): never {
  throw new MergeError("PatchFailed", message);
}

/** Throws a {@link MergeError} `BadPatch` (400) unless the document is a list of operations. */
export function parseJsonPatch(patch: JsonValue): JsonPatchOperation[] {
  const bad = (what: string) =>
    new MergeError(
      "BadPatch",
      `error decoding patch: json: cannot unmarshal ${what} into Go value of type []handlers.jsonPatchOp`,
    );
  if (patch === null) return [];
  if (!Array.isArray(patch)) throw bad(jsonTypeName(patch));
  for (const operation of patch) {
    if (operation !== null && !isObject(operation)) {
      throw new MergeError(
        "BadPatch",
        `error decoding patch: json: cannot unmarshal ${jsonTypeName(operation)} into Go value of type handlers.jsonPatchOp`,
      );
    }
    for (const field of ["op", "path", "from"]) {
      const value = operation?.[field];
      if (value !== undefined && value !== null && typeof value !== "string") {
        throw new MergeError(
          "BadPatch",
          `error decoding patch: json: cannot unmarshal ${jsonTypeName(value)} into Go struct field jsonPatchOp.${field} of type string`,
        );
      }
    }
  }
  return patch as unknown as JsonPatchOperation[];
}

function jsonTypeName(value: JsonValue): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value;
}

/**
 * The document after all operations, or nothing at all: a failed operation throws a {@link MergeError}
 * `PatchFailed` (422) and leaves the input as it was.
 *
 * Where the API server differs from the RFC, this does as it does: negative indices count from the end,
 * `replace` of a missing key adds it, and `test` of a missing key against null holds.
 */
export function applyJsonPatch(document: JsonObject, operations: readonly JsonPatchOperation[]): JsonObject {
  const box: Box = { root: deepCopy(document), copiedBytes: 0 };
  for (const operation of operations) run(box, operation);
  if (Array.isArray(box.root)) return failed("the patched document is not an object");
  return box.root;
}

const operationsByName: Record<string, (box: Box, operation: JsonPatchOperation) => void> = lookupTable({
  add: (box, operation) =>
    add(
      locate(box, pathOf(operation, "add"), "add operation does not apply: doc is missing path"),
      deepCopy(operation.value),
    ),
  remove: (box, operation) =>
    removeAt(
      locate(box, pathOf(operation, "remove"), "remove operation does not apply: doc is missing path"),
    ),
  replace,
  move,
  test,
  copy,
});

function run(box: Box, operation: JsonPatchOperation): void {
  const name = operation?.op ?? "unknown";
  const apply = operationsByName[name];
  if (apply === undefined) failed(`Unexpected kind: ${name}`);
  apply(box, operation);
}

function pathOf(operation: JsonPatchOperation, name: string): string {
  return operation.path ?? failed(`${name} operation failed to decode path: missing value`);
}

function fromOf(operation: JsonPatchOperation, name: string): string {
  return operation.from ?? failed(`${name} operation failed to decode from: missing value`);
}

interface Place {
  readonly container: Container;
  readonly key: string;
  readonly path: string;
}

/** The container of the last step of a pointer. The root itself has none. */
function locate(box: Box, path: string, missing: string): Place {
  const parts = path.split("/");
  if (parts.length < 2) return failed(`${missing}: "${path}": missing value`);
  let container: Container = box.root;
  for (const part of parts.slice(1, -1)) {
    const next = get(container, decodeKey(part));
    if (!isContainer(next)) return failed(`${missing}: "${path}": missing value`);
    container = next;
  }
  return { container, key: decodeKey(parts[parts.length - 1] as string), path };
}

function isContainer(value: JsonValue | undefined): value is Container {
  return Array.isArray(value) || isObject(value);
}

function decodeKey(part: string): string {
  return part.replace(/~[01]/g, (escaped) => (escaped === "~1" ? "/" : "~"));
}

const indexText = /^[+-]?\d+$/;

/** The position an index names in a list that may have `length` places; undefined when it names none. */
function position(key: string, length: number): number | undefined {
  if (!indexText.test(key)) return undefined;
  const index = Number(key);
  const at = index < 0 ? index + length : index;
  return at >= 0 && at < length ? at : undefined;
}

function get(container: Container, key: string): JsonValue | undefined {
  if (!Array.isArray(container)) return Object.hasOwn(container, key) ? container[key] : undefined;
  const at = position(key, container.length);
  return at === undefined ? undefined : container[at];
}

function existsInList(place: Place): boolean {
  return !Array.isArray(place.container) || position(place.key, place.container.length) !== undefined;
}

/** The document becomes the owner of the value. An operation without one adds null, as the API server reads it. */
function add({ container, key, path }: Place, item: JsonValue = null): void {
  if (!Array.isArray(container)) {
    setKey(container, key, item);
    return;
  }
  if (key === "-") {
    container.push(item);
    return;
  }
  const at = position(key, container.length + 1);
  if (at === undefined) failed(`error in add for path: '${path}': invalid index referenced`);
  container.splice(at, 0, item);
}

function removeAt({ container, key, path }: Place): void {
  if (Array.isArray(container)) {
    const at = position(key, container.length);
    if (at === undefined) failed(`error in remove for path: '${path}': invalid index referenced`);
    container.splice(at, 1);
  } else {
    if (!Object.hasOwn(container, key)) {
      failed(`error in remove for path: '${path}': Unable to remove nonexistent key: ${key}: missing value`);
    }
    delete container[key];
  }
}

function replace(box: Box, operation: JsonPatchOperation): void {
  const path = pathOf(operation, "replace");
  const value = deepCopy(operation.value ?? null);
  if (path === "") {
    if (!isContainer(value)) failed("replace operation value must be object or array");
    box.root = value;
    return;
  }
  const place = locate(box, path, "replace operation does not apply: doc is missing path");
  if (!existsInList(place)) {
    failed(`replace operation does not apply: doc is missing key: ${path}: missing value`);
  }
  const { container, key } = place;
  if (Array.isArray(container)) container[position(key, container.length) as number] = value;
  else setKey(container, key, value);
}

function move(box: Box, operation: JsonPatchOperation): void {
  const from = locate(
    box,
    fromOf(operation, "move"),
    "move operation does not apply: doc is missing from path",
  );
  if (!existsInList(from)) failed(`error in move for path: '${from.key}': invalid index referenced`);
  const value = get(from.container, from.key);
  removeAt(from);
  const path = pathOf(operation, "move");
  add(locate(box, path, "move operation does not apply: doc is missing destination path"), value);
}

function copy(box: Box, operation: JsonPatchOperation): void {
  const from = locate(
    box,
    fromOf(operation, "copy"),
    "copy operation does not apply: doc is missing from path",
  );
  if (!existsInList(from)) failed(`error in copy for from: '${from.path}': invalid index referenced`);
  const path = pathOf(operation, "copy");
  const place = locate(box, path, "copy operation does not apply: doc is missing destination path");
  const value = get(from.container, from.key) ?? null;
  box.copiedBytes += byteLength(JSON.stringify(value));
  if (box.copiedBytes > maxCopiedBytes) {
    failed(
      `Unable to complete the copy, the accumulated size increase of copy is ${box.copiedBytes}, exceeding the limit ${maxCopiedBytes}`,
    );
  }
  add(place, deepCopy(value));
}

function test(box: Box, operation: JsonPatchOperation): void {
  const path = pathOf(operation, "test");
  const expected = operation.value;
  if (path === "") {
    if (!deepEqual(box.root, expected ?? null)) failed("testing value  failed: test failed");
    return;
  }
  const place = locate(box, path, "test operation does not apply: is missing path");
  if (!existsInList(place)) failed(`error in test for path: '${path}': invalid index referenced`);
  const found = get(place.container, place.key) ?? null;
  if (!deepEqual(found, expected ?? null)) failed(`testing value ${path} failed: test failed`);
}
