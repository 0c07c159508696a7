/**
 * Complete OpenAPI documents, rebuilt from the tables.
 *
 * They say what the real server's documents say: paths, parameters, bodies, answers, media types,
 * `x-kubernetes-action`, `x-kubernetes-group-version-kind` and definitions. Operations, parameters and the fields that
 * people look up are described in words of our own.
 */
import type { JsonObject, JsonValue } from "@keelson/core";
import { definition, definitionNames } from "../definitions.ts";
import { withDescriptions } from "../descriptions.ts";
import type { GroupVersion, Schema } from "../notation/schema.ts";
import { groupVersions, resources } from "../resources.ts";
import { type Operation, operationsOf, operationsOfGroup, rootOperations } from "./operations.ts";
import { type Parameter, same, shared, sorted } from "./parameters.ts";

const info = { title: "Kubernetes", version: "1.36" };
const security = { BearerToken: { type: "apiKey", name: "authorization", in: "header" } };
const statusWords: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  401: "Unauthorized",
};
const sharedKinds = /\.meta\.v1\.(DeleteOptions|WatchEvent)$/;

/** Names of the v3 documents, as they stand in the index at `/openapi/v3`: `api/v1`, `apis/apps/v1`, `apis/apps`. */
export function openApiV3Paths(): string[] {
  return [...v3Operations().keys()];
}

/** The v3 document of that name; undefined when there is none. Built again at each call: keep what you serve. */
export function openApiV3(path: string): JsonObject | undefined {
  const entry = v3Operations().get(path);
  if (entry === undefined) return undefined;
  const operations = entry.operations();
  const schemas: JsonObject = {};
  for (const name of reachable(operations).sort()) {
    schemas[name] = v3Schema(forGroupVersion(name, described(name), entry.groupVersion));
  }
  const components: JsonObject = {
    ...(Object.keys(schemas).length > 0 ? { schemas } : {}),
    securitySchemes: security,
  };
  return { openapi: "3.0.0", info, paths: paths(operations, v3Operation, v3Parameter), components };
}

/** Custom resources as they join the documents. */
export interface CustomKinds {
  readonly operations: readonly Operation[];
  /** By name; references are written as the version of the document wants them. */
  readonly definitions: Readonly<Record<string, JsonObject>>;
}

/** What definitions of custom resources refer to. */
const customReferences = ["ObjectMeta", "ListMeta"].map(
  (kind) => `io.k8s.apimachinery.pkg.apis.meta.v1.${kind}`,
);

/** The v3 document of one group-version of custom resources. */
export function customOpenApiV3({ operations, definitions }: CustomKinds): JsonObject {
  const schemas: JsonObject = {};
  for (const name of reachable(operations, customReferences).sort())
    schemas[name] = definitions[name] ?? v3Schema(forExtensions(name, described(name)));
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes CRD Swagger", version: "v0.1.0" },
    paths: paths(operations, v3Operation, v3Parameter),
    components: { schemas },
  };
}

/** The one v2 document. Built again at each call: keep what you serve. */
export function openApiV2(custom: CustomKinds = { operations: [], definitions: {} }): JsonObject {
  const operations = [...v3Operations().values()].flatMap((entry) => entry.operations());
  const definitions: JsonObject = {};
  for (const name of definitionNames()) definitions[name] = v2Schema(described(name));
  return {
    swagger: "2.0",
    info,
    paths: paths([...operations, ...custom.operations], v2Operation, v2Parameter),
    definitions: byName({ ...definitions, ...custom.definitions }),
    securityDefinitions: security,
    security: [{ BearerToken: [] }],
  };
}

/** With what we have to say of the kind; what lists hold can be told of every kind. */
function described(name: string): Schema {
  const schema = withDescriptions(name, definition(name) ?? {});
  const { items } = schema.properties ?? {};
  const plural = listed().get(name);
  if (items === undefined || plural === undefined) return schema;
  const description = `List of ${plural}.`;
  return { ...schema, properties: { ...schema.properties, items: { ...items, description } } };
}

let listedPlurals: Map<string, string> | undefined;

/** Plural of what is in a list, by the list's definition. */
function listed(): Map<string, string> {
  listedPlurals ??= new Map(resources().map(({ definition: name, name: plural }) => [`${name}List`, plural]));
  return listedPlurals;
}

function byName(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}

interface Document {
  readonly operations: () => Operation[];
  readonly groupVersion?: GroupVersion;
}

function v3Operations(): Map<string, Document> {
  const documents = new Map<string, Document>([
    ["api", { operations: () => operationsOfGroup("") }],
    ["apis", { operations: () => [rootOperations.apis] }],
    ["version", { operations: () => [rootOperations.version] }],
    [".well-known/openid-configuration", { operations: () => [rootOperations.issuer] }],
    ["openid/v1/jwks", { operations: () => [rootOperations.keys] }],
  ]);
  for (const groupVersion of groupVersions()) {
    const { group, version } = groupVersion;
    if (group !== "") documents.set(`apis/${group}`, { operations: () => operationsOfGroup(group) });
    const path = group === "" ? `api/${version}` : `apis/${group}/${version}`;
    documents.set(path, { operations: () => operationsOf(groupVersion), groupVersion });
  }
  return documents;
}

type WriteOperation = (operation: Operation, own: readonly Parameter[]) => JsonObject;
type WriteParameter = (parameter: Parameter) => JsonObject;

function paths(
  operations: readonly Operation[],
  write: WriteOperation,
  writeParameter: WriteParameter,
): JsonObject {
  const result: JsonObject = {};
  for (const [path, members] of Map.groupBy(operations, (operation) => operation.path)) {
    const common = shared(members.map((operation) => operation.parameters));
    const item: JsonObject = {};
    for (const operation of members) {
      const own = operation.parameters.filter((parameter) => !common.some((other) => same(parameter, other)));
      item[operation.method] = write(operation, sorted(own));
    }
    if (common.length > 0) item.parameters = sorted(common).map(writeParameter);
    result[path] = item;
  }
  return byName(result);
}

function extensions({ action, kind }: Operation): JsonObject {
  return {
    ...(action === undefined ? {} : { "x-kubernetes-action": action }),
    ...(kind === undefined ? {} : { "x-kubernetes-group-version-kind": { ...kind } }),
  };
}

function v3Operation(operation: Operation, own: readonly Parameter[]): JsonObject {
  const content = (types: readonly string[], schema: JsonObject): JsonObject =>
    Object.fromEntries([...types].sort().map((type) => [type, { schema }]));
  const responses: JsonObject = {};
  for (const [code, name] of operation.answers) {
    const schema: JsonObject =
      name === undefined ? { type: "string" } : { $ref: `#/components/schemas/${name}` };
    responses[code] = { description: statusWords[code] ?? "", content: content(operation.produces, schema) };
  }
  responses[401] = { description: statusWords[401] ?? "" };
  const { body } = operation;
  return {
    tags: [operation.tag],
    description: operation.description,
    operationId: operation.id,
    ...(own.length > 0 ? { parameters: own.map(v3Parameter) } : {}),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            content: content(body.types, { $ref: `#/components/schemas/${body.definition}` }),
            ...(body.required ? { required: true } : {}),
          },
        }),
    responses,
    ...extensions(operation),
  };
}

function v3Parameter(parameter: Parameter): JsonObject {
  const required: JsonObject = parameter.in === "path" ? { required: true } : {};
  return {
    name: parameter.name,
    in: parameter.in,
    description: parameter.description,
    ...required,
    schema: { type: parameter.type, uniqueItems: true },
  };
}

function v2Operation(operation: Operation, own: readonly Parameter[]): JsonObject {
  const responses: JsonObject = {};
  for (const [code, name] of operation.answers) {
    const schema: JsonObject = name === undefined ? { type: "string" } : { $ref: `#/definitions/${name}` };
    responses[code] = { description: statusWords[code] ?? "", schema };
  }
  responses[401] = { description: statusWords[401] ?? "" };
  const { body, consumes } = operation;
  const bodyParameter: JsonObject[] =
    body === undefined
      ? []
      : [
          {
            name: "body",
            in: "body",
            ...(body.required ? { required: true } : {}),
            schema: { $ref: `#/definitions/${body.definition}` },
          },
        ];
  const list = [...bodyParameter, ...own.map(v2Parameter)];
  return {
    description: operation.description,
    ...(consumes === undefined ? {} : { consumes: [...consumes] }),
    produces: [...operation.produces],
    schemes: ["https"],
    tags: [operation.tag],
    operationId: operation.id,
    ...(list.length > 0 ? { parameters: list } : {}),
    responses,
    ...extensions(operation),
  };
}

function v2Parameter(parameter: Parameter): JsonObject {
  const required: JsonObject = parameter.in === "path" ? { required: true } : {};
  const { name, in: where, description, type } = parameter;
  return { name, in: where, description, type, uniqueItems: true, ...required };
}

/** Names of the definitions that operations use, directly or through others. */
function reachable(operations: readonly Operation[], others: readonly string[] = []): string[] {
  const seen = new Set<string>();
  const visit = (schema: Schema): void => {
    if (schema.$ref !== undefined) visitName(schema.$ref);
    for (const field of Object.values(schema.properties ?? {})) visit(field);
    if (schema.items !== undefined) visit(schema.items);
    if (schema.additionalProperties !== undefined) visit(schema.additionalProperties);
  };
  const visitName = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    visit(definition(name) ?? {});
  };
  for (const name of others) visitName(name);
  for (const { answers, body } of operations) {
    for (const [, name] of answers) if (name !== undefined) visitName(name);
    if (body !== undefined) visitName(body.definition);
  }
  return [...seen];
}

/** A group-version's document names only itself and the core group among the kinds that all share. */
function forGroupVersion(name: string, schema: Schema, groupVersion: GroupVersion | undefined): Schema {
  if (!sharedKinds.test(name)) return schema;
  const kinds = schema["x-kubernetes-group-version-kind"]?.filter(
    ({ group, version }) =>
      (group === "" && version === "v1") ||
      (group === groupVersion?.group && version === groupVersion.version),
  );
  return { ...schema, "x-kubernetes-group-version-kind": kinds };
}

/** Groups that the part of the real server that serves custom resources does not know. */
const unknownToExtensions = new Set([
  "admission.k8s.io",
  "apiextensions.k8s.io",
  "apiregistration.k8s.io",
  "imagepolicy.k8s.io",
]);

function forExtensions(name: string, schema: Schema): Schema {
  if (!sharedKinds.test(name)) return schema;
  const kinds = schema["x-kubernetes-group-version-kind"]?.filter(
    ({ group }) => !unknownToExtensions.has(group),
  );
  return { ...schema, "x-kubernetes-group-version-kind": kinds };
}

function v3Schema(schema: Schema): JsonObject {
  const { $ref, format, "x-kubernetes-int-or-string": intOrString, ...rest } = schema;
  const said: JsonObject = rest.description === undefined ? {} : { description: rest.description };
  if (intOrString)
    return { ...said, format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] };
  if (format === "quantity") return { ...said, oneOf: [{ type: "string" }, { type: "number" }] };
  const written = withInner(rest, v3Schema);
  if (format !== undefined) written.format = format;
  if ($ref === undefined) return written;
  const target = { $ref: `#/components/schemas/${$ref}` };
  return Object.keys(written).length === 0 ? target : { ...written, allOf: [target] };
}

function v2Schema(schema: Schema): JsonObject {
  const { $ref, format, default: _, "x-kubernetes-int-or-string": intOrString, ...rest } = schema;
  const said: JsonObject = rest.description === undefined ? {} : { description: rest.description };
  if (intOrString) return { ...said, type: "string", format: "int-or-string" };
  if (format === "quantity") return { ...said, type: "string" };
  const written = withInner(rest, v2Schema);
  if (format !== undefined) written.format = format;
  return $ref === undefined ? written : { $ref: `#/definitions/${$ref}`, ...written };
}

function withInner(schema: Schema, write: (inner: Schema) => JsonObject): JsonObject {
  const { properties, items, additionalProperties, ...rest } = schema;
  const result = { ...(rest as unknown as JsonObject) };
  if (properties !== undefined) {
    const fields: Record<string, JsonValue> = {};
    for (const [name, field] of Object.entries(properties)) fields[name] = write(field);
    result.properties = fields;
  }
  if (items !== undefined) result.items = write(items);
  if (additionalProperties !== undefined) result.additionalProperties = write(additionalProperties);
  return result;
}
