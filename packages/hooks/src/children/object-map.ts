/** Objects by kind and name, in the two forms in which hooks are sent them. */
import { type AnyKind, groupKind, type JsonObject, objectKey, type Stored } from "@keelson/core";
import { kindName } from "./child-rule.ts";

interface KindObjects {
  readonly kind: AnyKind;
  readonly objects: Map<string, Stored>;
}

/** Objects that belong to a parent or that it wants to know about. */
export class ObjectMap {
  readonly #kinds = new Map<string, KindObjects>();

  /** A kind is in the map though it has no objects. */
  addKind(kind: AnyKind): void {
    const name = kindName(kind);
    if (!this.#kinds.has(name)) this.#kinds.set(name, { kind, objects: new Map() });
  }

  add(kind: AnyKind, object: Stored): void {
    this.addKind(kind);
    this.#kinds.get(kindName(kind))?.objects.set(objectKey(object), object);
  }

  /** By `namespace/name`. */
  get(kind: AnyKind, key: string): Stored | undefined {
    return this.#kinds.get(kindName(kind))?.objects.get(key);
  }

  /** By name, whatever the version of the kind. */
  named(group: string, name: string): Stored | undefined {
    for (const { kind, objects } of this.#kinds.values()) {
      if (groupKind(kind) !== group) continue;
      for (const object of objects.values()) if (object.metadata.name === name) return object;
    }
    return undefined;
  }

  *entries(): Iterable<readonly [AnyKind, Stored]> {
    for (const { kind, objects } of this.#kinds.values()) {
      for (const object of objects.values()) yield [kind, object];
    }
  }

  /**
   * As a request has it. v1 names objects relative to the parent: one in a namespace knows those beside it by their bare
   * names, and nothing else. v2 names every object by namespace and name.
   */
  toRequest(version: "v1" | "v2", parent: Stored): JsonObject {
    const { namespace: home } = parent.metadata;
    const out: JsonObject = {};
    for (const [name, { objects }] of [...this.#kinds].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const those: JsonObject = {};
      for (const object of objects.values()) {
        const { namespace } = object.metadata;
        if (version === "v1" && home !== undefined && namespace !== home) continue;
        const bare = namespace === undefined || (version === "v1" && home !== undefined);
        const key = bare ? object.metadata.name : `${namespace}/${object.metadata.name}`;
        those[key] = object as unknown as JsonObject;
      }
      out[name] = those;
    }
    return out;
  }
}
