/** Replays the recorded server-side apply exchanges on the pure functions, without a server. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../object.ts";
import {
  applyMergePatch,
  applyPatch,
  applyUpdateOrClear,
  FieldSet,
  keepTimesIfUnchanged,
  type ManagedResource,
  MergeError,
  mapType,
  type OpenApiSchema,
  objectMetaType,
  scalarType,
  structType,
  typeFromStructuralSchema,
} from "./index.ts";

interface Step {
  method?: string;
  path?: string;
  type?: string;
  query?: Record<string, string>;
  body?: JsonObject;
  silent?: boolean;
  managed?: boolean;
  headers?: Record<string, string>;
  pick?: unknown;
  sleep?: number;
  until?: unknown;
}
interface Case {
  name: string;
  steps: Step[];
}
type Answer = { status: number; body: JsonObject };

const casesFile = new URL("../../../../conformance/cases/ssa.mjs", import.meta.url);
const cases = ((await import(casesFile.href)) as { default: Case[] }).default;
const golden = JSON.parse(
  readFileSync(new URL("../../../../conformance/golden/ssa.json", import.meta.url), "utf8"),
) as Record<string, Answer[]>;

const text = scalarType("string");
const configMap: ManagedResource = {
  apiVersion: "v1",
  kind: "ConfigMap",
  type: structType({
    apiVersion: text,
    kind: text,
    metadata: { type: objectMetaType, default: {} },
    data: mapType(text),
    binaryData: mapType(text),
    immutable: scalarType("boolean"),
  }),
  zero: { metadata: {} },
};

/** Just enough of a server: storage of single objects, one default, null and empty fields dropped. */
class Miniature {
  readonly #objects = new Map<string, JsonObject>();
  #crd: JsonObject | undefined;

  send(step: Step): Answer | undefined {
    const path = (step.path ?? "").replace(/\?.*/, "");
    if (path.includes("customresourcedefinitions")) {
      this.#crd ??= step.body;
      return undefined;
    }
    const status = path.endsWith("/status");
    const resource = path.includes("/widgets") ? this.#widgets(status) : configMap;
    const name =
      step.method === "POST"
        ? String((step.body as { metadata: JsonObject }).metadata.name)
        : (path
            .replace(/\/status$/, "")
            .split("/")
            .pop() as string);
    try {
      return this.#write(step, resource, name, status);
    } catch (error) {
      if (!(error instanceof MergeError)) throw error;
      return { status: error.code === "TypeMismatch" ? 500 : 400, body: { message: error.message } };
    }
  }

  #widgets(status: boolean): ManagedResource {
    const spec = this.#crd?.spec as unknown as { versions: { schema: { openAPIV3Schema: OpenApiSchema } }[] };
    const apiVersion = "$ID.conformance.test/v1";
    return {
      apiVersion,
      kind: "Widget",
      type: typeFromStructuralSchema(spec.versions[0]?.schema.openAPIV3Schema),
      ...(status ? { subresource: "status" } : {}),
      resetFields: new Map([[apiVersion, status ? FieldSet.of(["f:spec"]) : FieldSet.of(["f:status"])]]),
    };
  }

  #write(step: Step, resource: ManagedResource, name: string, status: boolean): Answer | undefined {
    const key = `${resource.kind}/${name}`;
    const live = this.#objects.get(key);
    const now = "2026-01-01T00:00:00Z";
    const manager = step.query?.fieldManager ?? (step.headers?.["user-agent"] ?? "node").split("/")[0] ?? "";
    if (step.method === "GET") return live ? { status: 200, body: live } : { status: 404, body: {} };
    let object: JsonObject;
    if (step.type === "application/apply-patch+yaml") {
      if (typeof step.body === "string" || !step.query?.fieldManager || manager.length > 128)
        return undefined;
      const meta = step.body?.metadata as JsonObject;
      if (meta.resourceVersion || meta.uid || step.query.dryRun || (status && !live)) return undefined;
      const config = JSON.parse(JSON.stringify(step.body)) as JsonObject;
      const force = step.query.force === "true";
      const result = applyPatch({ resource, ...(live ? { live } : {}), config, manager, force, now });
      if (result.conflicts) {
        return {
          status: 409,
          body: { message: result.message, details: { causes: result.causes as unknown as JsonValue } },
        };
      }
      object = result.object;
    } else {
      const updated =
        step.method === "PATCH" ? applyMergePatch(live as JsonObject, step.body as JsonObject) : step.body;
      const merged = { ...updated } as JsonObject;
      if (live) merged.metadata = { ...(live.metadata as JsonObject), ...(merged.metadata as JsonObject) };
      if (step.method === "PUT" && live) (merged.metadata as JsonObject).managedFields = null;
      object = applyUpdateOrClear({ resource, ...(live ? { live } : {}), updated: merged, manager, now });
    }
    object = { ...object, metadata: { ...(object.metadata as JsonObject), uid: "<uid>", namespace: "$NS" } };
    if (resource.kind === "Widget") {
      object = status
        ? { ...(live as JsonObject), status: object.status ?? null, metadata: object.metadata as JsonObject }
        : { ...object, status: live?.status ?? null };
    }
    object = dropNulls(object) as JsonObject;
    // Storage forgets an empty map of a built-in kind.
    if (resource === configMap && Object.keys(object.data ?? {}).length === 0) delete object.data;
    const spec = object.spec as JsonObject | undefined;
    if (resource.kind === "Widget" && spec && spec.size === undefined) spec.size = 1;
    if (live) object = keepTimesIfUnchanged(live, object);
    this.#objects.set(key, object);
    return { status: live ? 200 : 201, body: object };
  }
}

function dropNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(dropNulls);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([key, item]) => [key, dropNulls(item)]),
  );
}

function identify(entry: JsonObject): string {
  return [entry.manager, entry.operation, entry.apiVersion, entry.subresource].join("/");
}

function essence(body: JsonObject): unknown {
  const metadata = (body.metadata ?? {}) as JsonObject;
  // The recordings list entries by manager, because times are masked in them.
  const entries = [...((metadata.managedFields ?? []) as JsonObject[])].sort((a, b) =>
    identify(a).localeCompare(identify(b)),
  );
  return {
    data: body.data ?? {},
    spec: body.spec,
    status: typeof body.status === "object" ? body.status : undefined,
    labels: metadata.labels,
    finalizers: metadata.finalizers,
    ownerReferences: metadata.ownerReferences,
    managedFields: entries.map((entry) => ({
      ...entry,
      time: entry.time === undefined ? undefined : "<time>",
    })),
    message: body.message,
    causes: (body.details as JsonObject | undefined)?.causes,
  };
}

describe("recorded server-side apply", () => {
  for (const { name, steps } of cases) {
    if (name.startsWith("deployment:") || /resourceVersion|dry run/.test(name)) continue;
    const recorded = golden[name] ?? [];
    test(name, () => {
      const server = new Miniature();
      let at = 0;
      let compared = 0;
      for (const step of steps) {
        if (step.sleep !== undefined) continue;
        const answer = server.send(step);
        if (step.silent) continue;
        const expected = recorded[at++] as Answer;
        if (answer === undefined || step.pick !== undefined) continue;
        if (step.method === "POST" && expected.status === 422) continue;
        expect(essence(answer.body), `step ${at}`).toEqual(essence(expected.body));
        expect(answer.status).toBe(expected.status);
        compared++;
      }
      expect(compared + recorded.length).toBeGreaterThan(0);
    });
  }
});
