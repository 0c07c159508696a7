/** Says whether an object is valid at a version of its resource, as the API server would. */
import { type CompiledRules, compileRules } from "@keelson/cel";
import { type JsonObject, type JsonValue, parseApiVersion } from "@keelson/core";
import { isObject } from "@keelson/core/internal";
import type { Resource } from "@keelson/schema";

export class VersionSchemas {
  readonly #resource: Resource;
  readonly #rules = new Map<string, CompiledRules>();

  constructor(resource: Resource) {
    this.#resource = resource;
    // A webhook's address has no part in schemas; with one, all versions are there.
    const { versions } = resource.crd({ conversion: { url: "https://localhost" } }).spec;
    for (const { name, schema } of versions) this.#rules.set(name, compileRules(schema.openAPIV3Schema));
  }

  /**
   * The first thing that is wrong with what a conversion made; undefined when it is valid. Rules in CEL count when the
   * object kept its own before: random objects are made by schema alone.
   */
  problem(before: JsonObject, after: JsonObject, version: string): string | undefined {
    const misfit = this.#misfit(after, version);
    return misfit ?? (this.#broken(before) === undefined ? this.#broken(after) : undefined);
  }

  /** The first rule in CEL that the object breaks. */
  #broken(object: JsonObject): string | undefined {
    const { version } = parseApiVersion(String(object["apiVersion"]));
    const [first] = this.#rules.get(version)?.validate({ self: object }).errors ?? [];
    return first && `${first.field}: ${first.detail}`;
  }

  #misfit(object: JsonObject, version: string): string | undefined {
    const { spec, status } = this.#resource.versions[version] ?? {};
    const parts = [
      ["spec", spec],
      ["status", status],
    ] as const;
    for (const [part, schema] of parts) {
      const value = object[part];
      if (!schema || value === undefined) continue;
      const { success, data, error } = schema.safeParse(part === "status" ? withoutRuntime(value) : value);
      const [issue] = error?.issues ?? [];
      if (!success) return `${[part, ...(issue?.path ?? [])].join(".")}: ${issue?.message}`;
      const unknown = unknownField(
        part === "status" ? withoutRuntime(value) : value,
        data as JsonValue,
        part,
      );
      if (unknown !== undefined) return `${unknown}: ${version} has no such field`;
    }
    return undefined;
  }
}

/** What the runtime keeps in a status is in no author's schema. */
function withoutRuntime(status: JsonValue): JsonValue {
  if (!isObject(status)) return status;
  const { observedGeneration: _, conditions: __, inventory: ___, steps: ____, ...rest } = status;
  return rest;
}

/** A field that the schema dropped, because it does not know it: the server would prune it. */
function unknownField(given: JsonValue, kept: JsonValue | undefined, path: string): string | undefined {
  if (Array.isArray(given) && Array.isArray(kept)) {
    for (const [i, item] of given.entries()) {
      const found = unknownField(item, kept[i], `${path}[${i}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!isObject(given) || !isObject(kept)) return undefined;
  for (const [key, value] of Object.entries(given)) {
    if (!(key in kept)) return `${path}.${key}`;
    const found = unknownField(value, kept[key], `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
