/** The CustomResourceDefinition that follows from a resource's versions. */
import { compareApiVersions } from "@keelson/core/internal";
import type { z } from "zod";
import type {
  ConversionEndpoint,
  CrdVersion,
  CustomResourceDefinitionObject,
  StructuralSchema,
} from "./crd-object.ts";
import { SchemaError } from "./errors.ts";
import { pluralOf } from "./names.ts";
import type { Column, ResourceNames, VersionDefinition } from "./resource.ts";
import { structuralSchema } from "./structural.ts";

export interface CrdSource {
  readonly names: ResourceNames<string, string>;
  readonly versions: Readonly<Record<string, VersionDefinition>>;
  readonly storage: string;
  /** Versions that are converted by webhook. */
  readonly conversions: readonly string[];
}

/** Versions that need a webhook are served only with one: without it, the server would serve what it made up. */
export function crdOf(source: CrdSource, webhook?: ConversionEndpoint): CustomResourceDefinitionObject {
  const { names, versions, storage, conversions } = source;
  const plural = names.plural ?? pluralOf(names.kind);
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${names.group}` },
    spec: {
      group: names.group,
      scope: names.scope ?? "Namespaced",
      names: {
        kind: names.kind,
        listKind: `${names.kind}List`,
        plural,
        singular: names.singular ?? names.kind.toLowerCase(),
        ...(names.shortNames ? { shortNames: [...names.shortNames] } : {}),
        ...(names.categories ? { categories: [...names.categories] } : {}),
      },
      versions: Object.keys(versions)
        .sort(compareApiVersions)
        .map((name) => {
          const version = versionOf(name, versions[name] as VersionDefinition, name === storage);
          return conversions.includes(name) && !webhook ? { ...version, served: false } : version;
        }),
      ...(conversions.length > 0 && webhook
        ? {
            conversion: {
              strategy: "Webhook",
              webhook: { conversionReviewVersions: ["v1"], clientConfig: webhook },
            },
          }
        : {}),
    },
  };
}

function versionOf(name: string, version: VersionDefinition, storage: boolean): CrdVersion {
  const { columns, deprecated, scale, selectable } = version;
  const schema = objectSchema(version);
  for (const [where, path] of pathsOf(version)) checkPath(schema, where, path);
  return {
    name,
    served: version.served ?? true,
    storage,
    ...(deprecated ? { deprecated: true } : {}),
    ...(typeof deprecated === "string" ? { deprecationWarning: deprecated } : {}),
    schema: { openAPIV3Schema: schema },
    subresources: { status: {}, ...(scale ? { scale } : {}) },
    additionalPrinterColumns: columnsOf(columns ?? {}, schema),
    ...(selectable ? { selectableFields: selectable.map((jsonPath) => ({ jsonPath })) } : {}),
  };
}

/** Objects need no spec where it has a default. */
function objectSchema(version: VersionDefinition): StructuralSchema {
  const spec = structuralSchema(version.spec, "spec");
  return {
    type: "object",
    ...(version.description ? { description: version.description } : {}),
    ...(spec.default === undefined ? { required: ["spec"] } : {}),
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec,
      status: statusSchema(version.status),
    },
  };
}

/** The author's status and what the runtime keeps beside it. Nothing in a status is required: it begins empty. */
function statusSchema(status: z.ZodType | undefined): StructuralSchema {
  const own = status ? structuralSchema(status, "status") : { type: "object" as const };
  const { required: _, ...rest } = own;
  return { ...rest, properties: { ...own.properties, ...RUNTIME_STATUS } };
}

const string: StructuralSchema = { type: "string" };

const RUNTIME_STATUS: Record<string, StructuralSchema> = {
  observedGeneration: { type: "integer", format: "int64" },
  conditions: {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    items: {
      type: "object",
      required: ["type", "status", "lastTransitionTime", "reason", "message"],
      properties: {
        type: string,
        status: { type: "string", enum: ["True", "False", "Unknown"] },
        observedGeneration: { type: "integer", format: "int64" },
        lastTransitionTime: { type: "string", format: "date-time" },
        reason: string,
        message: string,
      },
    },
  },
  inventory: {
    type: "array",
    "x-kubernetes-list-type": "atomic",
    items: {
      type: "object",
      required: ["slot", "kind", "name", "uid"],
      properties: { slot: string, key: string, group: string, kind: string, name: string, uid: string },
    },
  },
  steps: {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["id"],
    items: {
      type: "object",
      required: ["id", "idempotencyKey", "startedAt"],
      properties: {
        id: string,
        idempotencyKey: string,
        startedAt: string,
        finishedAt: string,
        result: string,
      },
    },
  },
};

type PrinterColumn = NonNullable<CrdVersion["additionalPrinterColumns"]>[number];

/** The author's columns, then what everyone wants to see. */
function columnsOf(columns: Readonly<Record<string, Column>>, schema: StructuralSchema): PrinterColumn[] {
  const own = Object.entries(columns).map(([name, column]) => columnOf(name, column, schema));
  const standard: PrinterColumn[] = [
    { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    {
      name: "Reason",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
      priority: 1,
    },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ];
  return [...own, ...standard.filter((column) => !(column.name in columns))];
}

function columnOf(name: string, column: Column, schema: StructuralSchema): PrinterColumn {
  if (typeof column === "string") return { name, type: typeAt(schema, column), jsonPath: column };
  const { path, type, format, description, wide } = column;
  return {
    name,
    type: type ?? typeAt(schema, path),
    jsonPath: path,
    ...(format ? { format } : {}),
    ...(description ? { description } : {}),
    ...(wide ? { priority: 1 } : {}),
  };
}

/** Every path that a version names into its objects, and where it names it. */
function pathsOf({
  columns = {},
  scale,
  selectable = [],
}: VersionDefinition): [where: string, path: string][] {
  return [
    ...Object.entries(columns).map(([name, column]): [string, string] => [
      `columns.${name}`,
      typeof column === "string" ? column : column.path,
    ]),
    ...Object.entries(scale ?? {}).map(([name, path]): [string, string] => [`scale.${name}`, path]),
    ...selectable.map((path): [string, string] => ["selectable", path]),
  ];
}

/** The server takes a path to a field that is not there, and shows nothing. Paths with filters are left to it. */
function checkPath(schema: StructuralSchema, where: string, path: string): void {
  if (!/^\.(spec|status)(\.\w+)*$/.test(path)) return;
  let at = schema;
  for (const name of path.split(".").slice(1)) {
    if (at.properties === undefined || at["x-kubernetes-preserve-unknown-fields"]) return;
    const next = at.properties[name];
    if (next === undefined) {
      const known = Object.keys(at.properties).join(", ");
      throw new SchemaError("BadPath", where, `${path} names no field: there is no "${name}" among ${known}`);
    }
    at = next;
  }
}

/** The column type that a plain path such as `.spec.size` has in the schema; a string where it cannot be told. */
function typeAt(schema: StructuralSchema, path: string): string {
  let at: StructuralSchema | undefined = schema;
  for (const name of path.split(".").slice(1)) at = at?.properties?.[name];
  if (at?.format === "date-time") return "date";
  return at?.type === "integer" || at?.type === "number" || at?.type === "boolean" ? at.type : "string";
}
