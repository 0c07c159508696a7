/** The resource that is written, at the version of the request and at others. */
import type { JsonObject } from "../object.ts";
import type { FieldSet } from "./field-set.ts";
import type { TypeRef } from "./schema.ts";
import { checkType } from "./typed-fields.ts";

/** An object read at one version. */
export interface Versioned {
  readonly object: JsonObject;
  readonly type: TypeRef;
}

/** What applying needs to know about the resource that is written, at the version of the request. */
export interface ManagedResource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly type: TypeRef;
  /** `status`, `scale`, …: ownership is kept apart, and entries in the request are ignored. */
  readonly subresource?: string;
  /** Fields that this endpoint resets, by version: never owned through it. */
  readonly resetFields?: ReadonlyMap<string, FieldSet>;
  /**
   * The object at another version; undefined when that version is gone, and with it what was owned in it.
   * Left out for a resource with one version.
   */
  readonly convert?: (object: JsonObject, apiVersion: string) => Versioned | undefined;
  /** What a new object is before its first write. Default: `{apiVersion, kind}`. See `zeroObject`. */
  readonly zero?: JsonObject;
}

/** Converts between versions, each at most once per object. */
export class Versions {
  readonly #resource: ManagedResource;
  readonly #known = new Map<JsonObject, Map<string, Versioned | undefined>>();

  constructor(resource: ManagedResource) {
    this.#resource = resource;
  }

  at(object: JsonObject, apiVersion: string): Versioned | undefined {
    const resource = this.#resource;
    if ((object.apiVersion ?? resource.apiVersion) === apiVersion && apiVersion === resource.apiVersion) {
      return { object, type: resource.type };
    }
    let versions = this.#known.get(object);
    if (versions === undefined) {
      versions = new Map();
      this.#known.set(object, versions);
    }
    if (!versions.has(apiVersion)) versions.set(apiVersion, this.#convert(object, apiVersion));
    return versions.get(apiVersion);
  }

  #convert(object: JsonObject, apiVersion: string): Versioned | undefined {
    const converted = this.#resource.convert?.(object, apiVersion);
    // What was converted may hold no duplicates, though what is stored may.
    if (converted !== undefined) checkType(converted.object, converted.type, { allowDuplicates: false });
    return converted;
  }
}
