/** Plays random writes of several managers against a server and our functions, and compares after every step. */

import { expect } from "vitest";
import { deepEqual, type JsonObject, type JsonValue, type ManagedFieldsEntry } from "../src/index.ts";
import { isObject } from "../src/json.ts";
import {
  applyJsonPatch,
  applyMergePatch,
  applyPatch,
  applyStrategicPatch,
  applyUpdateOrClear,
  FieldSet,
  type JsonPatchOperation,
  type ManagedResource,
  MergeError,
  parentEntries,
  scaleEntries,
  type TypeCatalog,
  type TypeRef,
  typeFromStructuralSchema,
  zeroObject,
} from "../src/merge/index.ts";
import { customSchema, Maker } from "./random-objects.ts";

export interface Answer {
  readonly status: number;
  readonly body: JsonObject;
}

/** What answers: a real API server, or what one answered before. */
export interface Server {
  send(method: string, path: string, body?: unknown, contentType?: string): Promise<Answer>;
}

export interface Subject {
  readonly resource: ManagedResource;
  readonly collection: string;
  readonly make: (maker: Maker) => JsonObject;
  /** Whether defaults and allocation add fields to what was sent. */
  readonly plain: boolean;
  readonly strategic: boolean;
  /** Fields the server fills in after it has recorded ownership. */
  readonly late: readonly (readonly string[])[];
  /** The `/status` path, where the test plays on it. */
  readonly status?: ManagedResource;
  /** The type of the Scale object, where the resource has one. */
  readonly scale?: TypeRef | undefined;
}

export const subjects: Record<string, (types: TypeCatalog) => Subject> = {
  ConfigMap: (types) => ({
    ...builtIn(types, "v1", "ConfigMap", "/api/v1/namespaces/default/configmaps"),
    make: (maker) => maker.configMap(),
    plain: true,
    late: [],
  }),
  Service: (types) => ({
    ...builtIn(types, "v1", "Service", "/api/v1/namespaces/default/services"),
    make: (maker) => maker.service(),
    plain: false,
    late: [
      ["spec", "clusterIP"],
      ["spec", "clusterIPs"],
      ["spec", "ipFamilies"],
      ["spec", "ipFamilyPolicy"],
    ],
  }),
  Deployment: (types) => ({
    ...builtIn(types, "apps/v1", "Deployment", "/apis/apps/v1/namespaces/default/deployments"),
    make: (maker) => maker.deployment(),
    plain: false,
    late: [],
    scale: types.type("io.k8s.api.autoscaling.v1.Scale"),
  }),
  Widget: () => ({
    resource: {
      apiVersion: "merge.example.com/v1",
      kind: "Widget",
      type: typeFromStructuralSchema(customSchema),
      resetFields: new Map([["merge.example.com/v1", FieldSet.of(["f:status"])]]),
    },
    status: {
      apiVersion: "merge.example.com/v1",
      kind: "Widget",
      type: typeFromStructuralSchema(customSchema),
      subresource: "status",
      resetFields: new Map([["merge.example.com/v1", FieldSet.of(["f:spec"], ["f:metadata"])]]),
    },
    collection: "/apis/merge.example.com/v1/namespaces/default/widgets",
    make: (maker) => maker.widget(),
    plain: false,
    strategic: false,
    late: [],
  }),
};

function builtIn(types: TypeCatalog, apiVersion: string, kind: string, collection: string) {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const type = types.typeOf({ group: group as string, version: version as string, kind });
  if (type === undefined) throw new Error(`no type for ${apiVersion} ${kind}`);
  const zero = zeroObject(type);
  return {
    resource: {
      apiVersion,
      kind,
      type,
      zero,
      resetFields: new Map([[apiVersion, FieldSet.of(["f:status"])]]),
    } satisfies ManagedResource,
    collection,
    strategic: true,
  };
}

const now = "2026-01-01T00:00:00Z";

/** One object's life of ten writes. */
async function playOne(server: Server, subject: Subject, maker: Maker, name: string): Promise<void> {
  const path = `${subject.collection}/${name}`;
  let live: JsonObject | undefined;
  for (let step = 0; step < 10; step++) {
    const manager = maker.pick(["m1", "m2", "m3", "kubectl"]);
    const how = live === undefined ? maker.pick<Way>(["apply", "create"]) : maker.pick(waysToWrite(subject));
    const { apiVersion, kind } = subject.resource;
    const made = subject.make(maker);
    const config: JsonObject = {
      ...made,
      apiVersion,
      kind,
      metadata: { ...(made.metadata as JsonObject), name },
    };
    const context = `${name} step ${step}: ${how} by ${manager}`;
    const force = maker.chance(0.4);
    const move: Move = { server, subject, path, live, config, manager, force, how, context };
    const next =
      how === "apply" || how === "status"
        ? await apply(move)
        : how === "scale"
          ? await scale(move, maker.int(4))
          : await write(move);
    live = next ?? live;
  }
  await server.send("DELETE", path);
}

type Way = "apply" | "create" | "put" | "merge" | "strategic" | "json" | "status" | "scale";

function waysToWrite(subject: Subject): Way[] {
  const ways: Way[] = ["apply", "apply", "apply", "put", "merge", "json"];
  if (subject.strategic) ways.push("strategic");
  if (subject.status !== undefined) ways.push("status");
  if (subject.scale !== undefined) ways.push("scale");
  return ways;
}

interface Move {
  readonly server: Server;
  readonly subject: Subject;
  readonly path: string;
  readonly live: JsonObject | undefined;
  readonly config: JsonObject;
  readonly manager: string;
  readonly force: boolean;
  readonly how: Way;
  readonly context: string;
}

/** Each returns the object as the server has it now, or nothing when the server refused. */
async function apply(move: Move): Promise<JsonObject | undefined> {
  const { server, subject, live, manager, force, how, context } = move;
  const onStatus = how === "status";
  const resource = onStatus ? (subject.status as ManagedResource) : subject.resource;
  const config = onStatus ? { ...move.config, status: { ready: manager.length } } : move.config;
  const path = `${move.path}${onStatus ? "/status" : ""}?fieldManager=${manager}&force=${force}`;
  const { status, body } = await server.send("PATCH", path, config, "application/apply-patch+yaml");
  let ours: ReturnType<typeof applyPatch> | MergeError;
  try {
    ours = applyPatch({
      resource,
      ...(live === undefined ? {} : { live }),
      config,
      manager,
      force,
      now,
    });
  } catch (error) {
    if (!(error instanceof MergeError)) throw error;
    ours = error;
  }
  if (ours instanceof MergeError) {
    expect(body.message, context).toBe(ours.message);
    return undefined;
  }
  if (ours.conflicts !== undefined) {
    expect(status, `${context}: ${JSON.stringify(body)}`).toBe(409);
    const details = body.details as { causes?: JsonValue[] };
    const sorted = (causes: readonly unknown[]) =>
      causes.map((cause) => JSON.stringify(cause, ["field", "message", "reason"])).sort();
    expect(sorted(details.causes ?? []), context).toEqual(sorted(ours.causes));
    expect(body.message, context).toBe(ours.message);
    return undefined;
  }
  if (status >= 400) {
    // Validation after the merge is not ours to judge.
    expect([422, 500], `${context}: ${JSON.stringify(body)}`).toContain(status);
    return undefined;
  }
  compareEntries(ours.object, body, context);
  if (!onStatus) compareObjects(ours.object, body, subject.plain, context);
  return body;
}

/** Writes the replicas through the Scale object, and looks at the resource afterwards. */
async function scale(move: Move, replicas: number): Promise<JsonObject | undefined> {
  const { server, subject, path, manager, context } = move;
  const live = move.live as JsonObject;
  const { body: before } = await server.send("GET", `${path}/scale`);
  const { status, body: after } = await server.send(
    "PATCH",
    `${path}/scale?fieldManager=${manager}`,
    { spec: { replicas } },
    "application/merge-patch+json",
  );
  expect(status, context).toBe(200);
  const { body } = await server.send("GET", path);
  const { apiVersion } = subject.resource;
  const paths = new Map([[apiVersion, ["f:spec", "f:replicas"]]]);
  const entries = (live.metadata as { managedFields?: ManagedFieldsEntry[] }).managedFields;
  const shown = scaleEntries(entries, paths) as unknown as JsonValue;
  const type = subject.scale as TypeRef;
  const written = applyUpdateOrClear({
    resource: {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      type,
      zero: zeroObject(type),
      subresource: "scale",
    },
    live: withEntries(before, shown),
    updated: withEntries(after, shown),
    manager,
    now,
  });
  const scaled = (written.metadata as { managedFields?: ManagedFieldsEntry[] }).managedFields;
  const ours = parentEntries(entries, scaled, paths, apiVersion) as unknown as JsonValue;
  compareEntries(withEntries(body, ours), body, context);
  return body;
}

async function write(move: Move): Promise<JsonObject | undefined> {
  const { server, subject, path, live, config, manager, how, context } = move;
  const query = `?fieldManager=${manager}`;
  const { apiVersion: _a, kind: _k, ...patch } = config;
  let answer: { status: number; body: JsonObject };
  let expected: JsonObject = config;
  if (how === "create") {
    answer = await server.send("POST", subject.collection + query, config);
  } else if (how === "put") {
    const metadata = { ...(config.metadata as JsonObject) };
    metadata.resourceVersion = (live as { metadata: JsonObject }).metadata.resourceVersion as string;
    answer = await server.send("PUT", path + query, { ...config, metadata });
  } else if (how === "json") {
    const operations = jsonOperations(live as JsonObject, config);
    answer = await server.send("PATCH", path + query, operations, "application/json-patch+json");
    expected = applyJsonPatch(live as JsonObject, operations);
  } else if (how === "merge") {
    answer = await server.send("PATCH", path + query, patch, "application/merge-patch+json");
    expected = applyMergePatch(live as JsonObject, patch);
  } else {
    answer = await server.send("PATCH", path + query, patch, "application/strategic-merge-patch+json");
    expected = applyStrategicPatch(live as JsonObject, patch, subject.resource.type);
  }
  const { status, body } = answer;
  if (status >= 400) {
    expect([422, 409, 500], `${context}: ${JSON.stringify(body)}`).toContain(status);
    return undefined;
  }
  if (how !== "create" && how !== "put") compareObjects(expected, body, subject.plain, context);
  // The server records ownership of the object with its defaults, before it allocates addresses and the like.
  const given =
    how === "create" ? undefined : ((live as { metadata: JsonObject }).metadata.managedFields as JsonValue);
  const updated = withEntries(live === undefined ? without(body, subject.late) : body, given);
  const ours = applyUpdateOrClear({
    resource: subject.resource,
    ...(live === undefined ? {} : { live }),
    updated,
    manager,
    now,
  });
  compareEntries(ours, body, context);
  return body;
}

/** Takes over what the configuration has, field by field, and drops the labels it does not have. */
function jsonOperations(live: JsonObject, config: JsonObject): JsonPatchOperation[] {
  const operations: JsonPatchOperation[] = [];
  const metadata = config.metadata as JsonObject;
  if (metadata.labels !== undefined)
    operations.push({ op: "add", path: "/metadata/labels", value: metadata.labels });
  else if ((live.metadata as JsonObject).labels !== undefined)
    operations.push({ op: "remove", path: "/metadata/labels" });
  for (const [key, value] of Object.entries((config.spec ?? {}) as JsonObject)) {
    if (live.spec !== undefined) operations.push({ op: "add", path: `/spec/${key}`, value });
  }
  if (config.data !== undefined) operations.push({ op: "replace", path: "/data", value: config.data });
  return operations;
}

function without(object: JsonObject, paths: readonly (readonly string[])[]): JsonObject {
  const copy = structuredClone(object);
  for (const path of paths) {
    let at: JsonObject | undefined = copy;
    for (const key of path.slice(0, -1)) at = at?.[key] as JsonObject | undefined;
    if (at !== undefined) delete at[path[path.length - 1] as string];
  }
  return copy;
}

function withEntries(object: JsonObject, entries: JsonValue | undefined): JsonObject {
  const { managedFields: _dropped, ...metadata } = object.metadata as JsonObject;
  return { ...object, metadata: entries === undefined ? metadata : { ...metadata, managedFields: entries } };
}

/** Entries by manager, with the text of their fields and whether they have a time. */
function entriesOf(object: JsonObject): unknown[] {
  const entries = ((object.metadata as JsonObject).managedFields ?? []) as unknown as ManagedFieldsEntry[];
  return entries
    .map(({ time, fieldsV1, ...rest }) => ({
      ...rest,
      timed: time !== undefined,
      fields: JSON.stringify(fieldsV1),
    }))
    .sort((a, b) => (identify(a) < identify(b) ? -1 : 1));
}

function identify(entry: ManagedFieldsEntry): string {
  return JSON.stringify([entry.manager, entry.operation, entry.apiVersion, entry.subresource ?? ""]);
}

function compareEntries(ours: JsonObject, theirs: JsonObject, context: string): void {
  // Custom resources are printed with their keys in order, fieldsV1 included.
  const custom = String(theirs.apiVersion).startsWith("merge.example.com");
  const mine = custom ? sortedKeys(ours) : ours;
  expect(entriesOf(mine), context).toEqual(entriesOf(theirs));
}

function sortedKeys<T extends JsonValue>(value: T): T {
  if (Array.isArray(value)) return value.map(sortedKeys) as unknown as T;
  if (typeof value !== "object" || value === null) return value;
  const sorted = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([key, item]) => [key, sortedKeys(item)])) as T;
}

/** With `exact`, all of the object but what the server alone writes; otherwise that ours is contained in theirs. */
function compareObjects(ours: JsonObject, theirs: JsonObject, exact: boolean, context: string): void {
  const mine = essence(ours) as JsonObject;
  const real = essence(theirs) as JsonObject;
  if (exact) expect(mine, context).toEqual(real);
  else
    expect(
      missingIn(mine, real, ""),
      `${context}: ${JSON.stringify(mine)} in ${JSON.stringify(real)}`,
    ).toEqual([]);
}

/** Empty and null fields do not survive storage, so they are not compared. */
function essence(value: JsonValue, path = ""): JsonValue | undefined {
  if (Array.isArray(value))
    return value.length === 0 ? undefined : value.map((item) => essence(item, path) ?? {});
  if (value === null) return undefined;
  if (typeof value !== "object") return value;
  const out: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    if (path === "" && key === "status") continue;
    if (path === "/metadata" && !["labels", "annotations", "finalizers", "ownerReferences"].includes(key))
      continue;
    const kept = essence(item, `${path}/${key}`);
    if (kept !== undefined) out[key] = kept;
  }
  return Object.keys(out).length === 0 ? undefined : out;
}

function missingIn(ours: JsonValue | undefined, theirs: JsonValue | undefined, path: string): string[] {
  if (ours === undefined || deepEqual(ours, theirs)) return [];
  if (Array.isArray(ours) && Array.isArray(theirs) && ours.length === theirs.length) {
    return ours.flatMap((item, i) => missingIn(item, theirs[i], `${path}[${i}]`));
  }
  if (isObject(ours) && isObject(theirs)) {
    return Object.keys(ours).flatMap((key) => missingIn(ours[key], theirs[key], `${path}.${key}`));
  }
  return [path];
}

/** Lives of several objects of one kind, told apart by seed and number. */
export async function play(
  server: Server,
  kind: string,
  types: TypeCatalog,
  seed: number,
  rounds: number,
): Promise<void> {
  const subject = subjects[kind]?.(types);
  if (subject === undefined) throw new Error(`no subject ${kind}`);
  for (let round = 0; round < rounds; round++) {
    await playOne(server, subject, new Maker(seed * 1000 + round), `${kind.toLowerCase()}-${seed}-${round}`);
  }
}
