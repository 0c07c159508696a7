/** Built-in kinds as object types: decoded by the tables, completed by their strategy. */
import { type JsonObject, type JsonValue, parseApiVersion } from "@keelson/core";
import { type OpenApiSchema, type TypeRef, typesFromOpenApi } from "@keelson/core/internal/merge";
import { goQuote } from "../contracts/field-error.ts";
import type { ApiObject } from "../contracts/object.ts";
import { badRequest } from "../contracts/status-error.ts";
import type { Strategy } from "../contracts/strategy.ts";
import type { ObjectType, ScaleAccess, StrictErrors } from "../registry/api-resource.ts";
import { definition, definitionName } from "../tables/index.ts";
import { convertBuiltin } from "./conversion.ts";
import { decodeBuiltin } from "./decode.ts";
import { statusResetsMetadata } from "./facts.ts";
import { restoreFault } from "./restore-fault.ts";
import { DecodeError } from "./scalars.ts";
import { scaleAccess } from "./scale.ts";
import { shapeOf } from "./shape.ts";
import { settlerOf } from "./stored-empties.ts";

export interface BuiltinKind {
  /** `deployments.apps`. */
  readonly resource: string;
  readonly group: string;
  readonly kind: string;
  /** Definition by served version. */
  readonly definitions: ReadonlyMap<string, string>;
  /** apiVersion by served version; core events differ from events.k8s.io in the group too. */
  readonly apiVersions: ReadonlyMap<string, string>;
  readonly storageApiVersion: string;
  readonly strategy: Strategy;
}

/** Reads definitions as the catalog asks for them, rather than all at once. */
const definitions = new Proxy({} as Record<string, OpenApiSchema>, {
  get: (_, name) => (typeof name === "string" ? definition(name) : undefined),
  getOwnPropertyDescriptor: (_, name) => {
    const value = typeof name === "string" ? definition(name) : undefined;
    return value && { value, enumerable: true, configurable: true, writable: false };
  },
});
const catalog = typesFromOpenApi(definitions);

export function builtinMergeType(definitionName: string): TypeRef {
  const type = catalog.type(definitionName);
  if (!type) throw new Error(`the tables have no definition ${definitionName}`);
  return type;
}

/** Of another group when the kind is a view of it: events.k8s.io shows core events. */
function storageDefinition({ storageApiVersion, kind }: BuiltinKind): string | undefined {
  const { group, version } = parseApiVersion(storageApiVersion);
  return definitionName({ group, version, kind });
}

export function builtinType(kind: BuiltinKind): ObjectType {
  const definitionOf = (version: string): string => {
    const name = kind.definitions.get(version);
    if (!name) throw new Error(`${kind.kind} has no version ${version}`);
    return name;
  };
  const toStorage = (object: ApiObject) =>
    object.apiVersion === kind.storageApiVersion
      ? object
      : convertBuiltin(object, kind.storageApiVersion, storageDefinition(kind));
  const storageVersion = kind.storageApiVersion.slice(kind.storageApiVersion.indexOf("/") + 1);
  const storedDefinition = kind.definitions.get(storageVersion) ?? [...kind.definitions.values()][0];
  let settler: { settle: ReturnType<typeof settlerOf> } | undefined;
  return {
    strategicPatches: true,
    decode(value: JsonValue, version: string, strict: StrictErrors): ApiObject {
      let object: JsonObject;
      try {
        object = decodeBuiltin(definitionOf(version), value, strict);
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
        throw badRequest(
          `${kind.kind} in version ${goQuote(version)} cannot be handled as a ${kind.kind}: ${error.message}`,
          error,
        );
      }
      object.apiVersion = kind.apiVersions.get(version) as string;
      object.kind = kind.kind;
      if (object.metadata === undefined || object.metadata === null) object.metadata = {};
      return object as ApiObject;
    },
    restoreFault: (value, version) => restoreFault(shapeOf(definitionOf(version)), value),
    default: (draft, version) => kind.strategy.default?.(draft, version),
    convert: (object, version) =>
      convertBuiltin(
        object,
        kind.apiVersions.get(version) ?? kind.storageApiVersion,
        kind.definitions.get(version),
      ),
    toStorage,
    toWorking: toStorage,
    settle(draft) {
      settler ??= { settle: settlerOf(storedDefinition as string) };
      settler.settle?.(draft);
    },
    resetStatus(draft) {
      const shape = shapeOf(storedDefinition as string);
      const field = shape.type === "struct" ? shape.fields.find(({ name }) => name === "status") : undefined;
      const empty =
        field?.absent === "zero" ? decodeBuiltin(storedDefinition as string, {}).status : undefined;
      if (empty === undefined) delete draft.status;
      else draft.status = empty;
    },
    keepAllButStatus(draft, old) {
      for (const key of Object.keys(draft))
        if (key !== "metadata" && key !== "status" && !(key in old)) delete draft[key];
      for (const [key, value] of Object.entries(old))
        if (key !== "metadata" && key !== "status") draft[key] = value;
      if (!statusResetsMetadata.has(kind.resource)) return;
      const { managedFields, resourceVersion } = draft.metadata;
      draft.metadata = { ...old.metadata, ...(resourceVersion && { resourceVersion }) };
      if (managedFields === undefined) delete draft.metadata.managedFields;
      else draft.metadata.managedFields = managedFields;
    },
    mergeType: (version) => builtinMergeType(definitionOf(version)),
    scale: (): ScaleAccess | undefined => scaleAccess(kind.group, kind.kind),
  };
}
