/** Objects as tables and as bare metadata: what kubectl prints and what metadata clients read. */
import type { JsonObject, JsonValue } from "@keelson/core";
import { goQuote } from "../contracts/field-error.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { Printer } from "../contracts/printer.ts";
import { badRequest, notAcceptable } from "../contracts/status-error.ts";
import type { Transform } from "../messages/negotiation.ts";

export type IncludeObject = "Metadata" | "None" | "Object";

export function parseIncludeObject(query: URLSearchParams): IncludeObject {
  const value = query.get("includeObject") ?? "";
  if (value === "" || value === "Metadata") return "Metadata";
  if (value === "None" || value === "Object") return value;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${goQuote(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

export const nameDescription =
  "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
export const creationDescription =
  "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/** Kinds without columns of their own show their name and when they were made. */
export const plainPrinter: Printer = {
  columns: [
    { name: "Name", type: "string", format: "name", description: nameDescription },
    { name: "Created At", type: "date", description: creationDescription },
  ],
  row: (object) => ({
    cells: [object.metadata.name, (object.metadata.creationTimestamp as string | undefined) ?? ""],
  }),
};

export interface TableOptions {
  readonly transform: Transform;
  readonly include: IncludeObject;
  readonly nowMs: number;
  /** Column definitions are left out of all but the first event of a watch. */
  readonly headers: boolean;
  /** The full object for `includeObject=Object`. */
  readonly whole: (object: ApiObject) => JsonObject;
}

export function tableOf(
  printer: Printer,
  objects: readonly ApiObject[],
  metadata: JsonObject,
  options: TableOptions,
): JsonObject {
  const { transform, include, nowMs } = options;
  const apiVersion = `${transform.group}/${transform.version}`;
  return {
    kind: "Table",
    apiVersion,
    metadata,
    columnDefinitions: options.headers
      ? printer.columns.map(({ name, type, format = "", description = "", priority = 0 }) => ({
          name,
          type,
          format,
          description,
          priority,
        }))
      : null,
    rows: objects.map((object) => {
      const { cells, conditions } = printer.row(object, { nowMs });
      return {
        cells: cells as JsonValue[],
        ...(conditions && { conditions: conditions as JsonObject[] }),
        object: includedObject(object, include, apiVersion, options.whole),
      };
    }),
  };
}

function includedObject(
  object: ApiObject,
  include: IncludeObject,
  apiVersion: string,
  whole: (object: ApiObject) => JsonObject,
): JsonValue {
  if (include === "None") return null;
  if (include === "Object") return whole(object);
  return { kind: "PartialObjectMetadata", apiVersion, metadata: object.metadata };
}

export function partialMetadata(object: ApiObject, transform: Transform): JsonObject {
  return {
    kind: "PartialObjectMetadata",
    apiVersion: `${transform.group}/${transform.version}`,
    metadata: object.metadata,
  };
}

export function partialMetadataList(
  objects: readonly ApiObject[],
  metadata: JsonObject,
  transform: Transform,
): JsonObject {
  return {
    kind: "PartialObjectMetadataList",
    apiVersion: `${transform.group}/${transform.version}`,
    metadata,
    items: objects.map((object) => partialMetadata(object, transform)),
  };
}

export function refuseTransform(): never {
  throw notAcceptable(["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]);
}
