/** Random requests: any verb, any content type, any built-in kind. */
import { stringify } from "yaml";
import type { Chance } from "./random.ts";
import type { Target } from "./targets.ts";
import { hostileValue, mutated, names, valueFor } from "./values.ts";

export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** What was answered before, by kind: what updates and patches begin with. */
export class Memory {
  readonly #objects = new Map<string, unknown[]>();

  /** `object` is JSON, or the bytes of a protobuf answer under `kind` in another form. */
  keep(kind: string, object: unknown): void {
    const kept = this.#objects.get(kind) ?? [];
    kept.push(object);
    if (kept.length > 10) kept.shift();
    this.#objects.set(kind, kept);
  }

  some(kind: string, chance: Chance): unknown {
    const kept = this.#objects.get(kind);
    return kept?.length ? chance.of(kept) : undefined;
  }
}

/** Under which protobuf answers of a kind are kept. */
export const inProtobuf = (kind: string) => `${kind} in protobuf`;

const protobufType = "application/vnd.kubernetes.protobuf";
const patchTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
  "application/apply-patch+cbor",
];
const bodyTypes = [
  "application/json",
  "application/json",
  "application/yaml",
  protobufType,
  "application/cbor",
  "text/plain",
  "",
];
const accepts = [
  ...Array<string>(8).fill("application/json"),
  "application/yaml",
  protobufType,
  `${protobufType},application/json`,
  "application/json;as=Table;g=meta.k8s.io;v=v1",
  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
  `${protobufType};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`,
  "application/cbor",
  "*/*",
  "text/html",
  "a/b;q=x,;;,",
];
const queries = [
  "limit=2",
  "limit=-1",
  "limit=99999999999999999999",
  "continue=abc",
  "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0",
  "resourceVersion=0",
  "resourceVersion=1&resourceVersionMatch=Exact",
  "resourceVersion=-1",
  "labelSelector=a%3Db",
  "labelSelector=a+in+(b,c),!d",
  "labelSelector=%3D%3D",
  "fieldSelector=metadata.name%3Da",
  "fieldSelector=__proto__%3Da",
  "fieldSelector=spec.nodeName!%3Dx",
  "dryRun=All",
  "dryRun=x",
  "fieldValidation=Strict",
  "fieldValidation=Ignore",
  "fieldManager=fuzz",
  "fieldManager=fuzz&force=true",
  `fieldManager=${"x".repeat(200)}`,
  "pretty=1",
  "propagationPolicy=Foreground",
  "propagationPolicy=Orphan",
  "gracePeriodSeconds=0",
  "gracePeriodSeconds=-5",
  "orphanDependents=true",
  "timeoutSeconds=1",
  "includeObject=Object",
  "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&watch=1&timeoutSeconds=1",
  "watch=1&timeoutSeconds=1",
  "watch=true&timeoutSeconds=1&resourceVersion=1",
  "command=id&stdout=1",
  "follow=1&tailLines=-1",
  "%zz",
  "a[b]=c",
];

export function randomRequest(targets: readonly Target[], memory: Memory, chance: Chance): FuzzRequest {
  if (chance.is(0.03)) return wildRequest(chance);
  // Watches take a second each, and there are as many paths for them as for all else.
  let target = chance.of(targets);
  while (target.path.includes("/watch/") && chance.is(0.95)) target = chance.of(targets);
  const query = new Set<string>();
  while (chance.is(0.3)) query.add(chance.of(queries));
  const isPatch = target.method === "PATCH";
  const type = chance.of(isPatch ? patchTypes : bodyTypes);
  if (type.startsWith("application/apply-patch")) query.add("fieldManager=fuzz");
  // A list that watches would otherwise stay open.
  if (target.path.includes("/watch/")) query.add("timeoutSeconds=1");
  const path = target.path
    .replace("{namespace}", () => segment(chance))
    .replace("{name}", () => segment(chance))
    .replace(/\{\w+\}/g, () => segment(chance));
  const bare = target.method === "GET" || (target.method === "DELETE" && chance.is(0.7));
  return {
    method: chance.is(0.01) ? chance.of(["HEAD", "OPTIONS", "BREW", "TRACE"]) : target.method,
    path: `${path}?${[...query].join("&")}`,
    headers: {
      accept: chance.of(accepts),
      ...(bare ? {} : { "content-type": type }),
      ...(chance.is(0.03)
        ? { "impersonate-user": chance.of(["joe", "system:node:a", "", "__proto__"]) }
        : {}),
      ...(chance.is(0.02) ? { "impersonate-extra-constructor": "x" } : {}),
      ...(chance.is(0.05) ? { "accept-encoding": "gzip" } : {}),
    },
    ...(bare ? {} : { body: bodyOf(target, type, memory, chance) }),
  };
}

function segment(chance: Chance): string {
  return chance.is(0.05)
    ? chance.of(["__proto__", "%00", "%2F", "..", "a%2Fb", "x".repeat(300), "%zz", "A_b"])
    : chance.of(names);
}

function bodyOf(target: Target, type: string, memory: Memory, chance: Chance): Uint8Array {
  const wrong = chance.of([0, 0, 0.005, 0.02, 0.1]);
  const known = memory.some(target.kind, chance);
  const whole = () => {
    const made = valueFor(target.schema ?? {}, target.schemas, chance, wrong) as Record<string, unknown>;
    if (typeof made !== "object" || made === null || chance.is(wrong)) return made;
    const metadata = { ...(chance.is(0.3) ? { labels: { a: "b" } } : {}), name: chance.of(names) };
    return { ...made, apiVersion: target.apiVersion, kind: target.kind, metadata };
  };
  let value: unknown;
  if (type === "application/json-patch+json") value = jsonPatch(chance);
  else if (known !== undefined && chance.is(0.6)) value = chance.is(0.7) ? mutated(known, chance) : known;
  else value = whole();
  const bytes = type === protobufType ? memory.some(inProtobuf(target.kind), chance) : undefined;
  return bytes instanceof Uint8Array && chance.is(0.8)
    ? damaged(bytes, chance)
    : encoded(value, type, chance);
}

function jsonPatch(chance: Chance): unknown {
  const pointer = () =>
    chance.of([
      "",
      "/metadata",
      "/metadata/labels",
      "/metadata/labels/x",
      "/spec",
      "/spec/a",
      "/data",
      "/-",
      "/metadata/finalizers/0",
      "/~2",
      "a",
      "/__proto__/x",
      "/metadata/managedFields",
    ]);
  return Array.from({ length: chance.below(8) }, () => ({
    op: chance.of(["add", "remove", "replace", "move", "copy", "test", "constructor"]),
    path: pointer(),
    ...(chance.is(0.5) ? { from: pointer() } : {}),
    ...(chance.is(0.8) ? { value: hostileValue(chance) } : {}),
  }));
}

function encoded(value: unknown, type: string, chance: Chance): Uint8Array {
  const json = JSON.stringify(value) ?? "null";
  let bytes: Uint8Array;
  if (type === "application/yaml" && chance.is(0.7) && json.length < 50_000)
    bytes = Buffer.from(asYaml(value, json));
  else if (type.includes("protobuf"))
    bytes = Buffer.concat([Buffer.from("k8s\0"), noise(chance, chance.below(200))]);
  else if (type.includes("cbor")) bytes = Buffer.concat([Buffer.from([0xd9, 0xd9, 0xf7]), noise(chance, 40)]);
  else bytes = Buffer.from(json);
  return chance.is(0.04) ? damaged(bytes, chance) : bytes;
}

function damaged(bytes: Uint8Array, chance: Chance): Uint8Array {
  return chance.is(0.3) ? bytes.subarray(0, chance.below(bytes.length + 1)) : flipped(bytes, chance);
}

/** Values that YAML has no text for are sent as JSON, which is YAML too. */
function asYaml(value: unknown, json: string): string {
  try {
    return stringify(value);
  } catch {
    return json;
  }
}

/** Bytes that look like fields of a message about half of the time. */
function noise(chance: Chance, length: number): Uint8Array {
  return Uint8Array.from({ length }, () =>
    chance.is(0.5) ? chance.of([0x0a, 0x12, 0x1a, 0x22, 2, 4]) : chance.below(256),
  );
}

function flipped(bytes: Uint8Array, chance: Chance): Uint8Array {
  const copy = Uint8Array.from(bytes);
  for (let i = chance.below(8); i >= 0 && copy.length > 0; i--)
    copy[chance.below(copy.length)] = chance.below(256);
  return copy;
}

function wildRequest(chance: Chance): FuzzRequest {
  const part = () =>
    chance.of([
      "api",
      "apis",
      "v1",
      "watch",
      "namespaces",
      "default",
      "pods",
      "apps",
      "openapi",
      "v3",
      "readyz",
      "metrics",
      "version",
      "..",
      "%2e%2e",
      "__proto__",
      "",
      "logs",
      ".well-known",
    ]);
  const path = Array.from({ length: chance.below(7) }, part).join("/");
  return {
    method: chance.of(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]),
    path: `/${path}?${chance.of(queries)}${path.includes("watch") ? "&timeoutSeconds=1" : ""}`,
    headers: { accept: chance.of(accepts), "content-type": chance.of(bodyTypes) },
  };
}
