/** The operations of a group-version, as OpenAPI describes them. */
import type { JsonObject, JsonValue } from "@keelson/core";
import {
  type ApiResource,
  type ApiVersion,
  apiVersionText,
  type Subresource,
} from "../registry/api-resource.ts";

/** How a document of one OpenAPI version writes references, parameters and bodies. */
export interface Dialect {
  ref(definition: string): JsonObject;
  parameter(name: string, where: "query" | "path", type: string): JsonObject;
  body(schema: JsonObject, mediaTypes: readonly string[]): JsonObject;
  response(schema: JsonObject, mediaTypes: readonly string[]): JsonObject;
}

const writeTypes = ["*/*"];
const readTypes = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const listTypes = [...readTypes, "application/json;stream=watch"];
const statusDefinition = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
const patchDefinition = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
const deleteDefinition = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";

const listParameters: readonly (readonly [string, string])[] = [
  ["allowWatchBookmarks", "boolean"],
  ["continue", "string"],
  ["fieldSelector", "string"],
  ["labelSelector", "string"],
  ["limit", "integer"],
  ["resourceVersion", "string"],
  ["resourceVersionMatch", "string"],
  ["sendInitialEvents", "boolean"],
  ["timeoutSeconds", "integer"],
  ["watch", "boolean"],
];
const writeParameters = [
  ["dryRun", "string"],
  ["fieldManager", "string"],
  ["fieldValidation", "string"],
] as const;
const patchParameters = [...writeParameters, ["force", "boolean"]] as const;
const deleteParameters = [
  ["dryRun", "string"],
  ["gracePeriodSeconds", "integer"],
  ["orphanDependents", "boolean"],
  ["propagationPolicy", "string"],
] as const;

export interface PathSource {
  readonly resource: ApiResource;
  readonly version: ApiVersion;
  /** Definition of the kind, of its list, and of a subresource's kind. */
  definitionOf(group: string, version: string, kind: string): string;
}

export function resourcePaths(source: PathSource, dialect: Dialect): Record<string, JsonObject> {
  const { resource, version } = source;
  const root = `/${resource.group ? "apis" : "api"}/${apiVersionText(resource, version.name)}`;
  const scope = resource.namespaced ? "/namespaces/{namespace}" : "";
  const collection = `${root}${scope}/${resource.resource}`;
  const paths: Record<string, JsonObject> = {};
  const make = (path: string, operations: readonly [string, JsonObject | undefined][]) => {
    const item: JsonObject = {};
    for (const [method, operation] of operations) if (operation) item[method] = operation;
    if (Object.keys(item).length === 0) return;
    const parameters: JsonValue[] = [];
    if (path.includes("{name}")) parameters.push(dialect.parameter("name", "path", "string"));
    if (path.includes("{namespace}")) parameters.push(dialect.parameter("namespace", "path", "string"));
    parameters.push(dialect.parameter("pretty", "query", "string"));
    paths[path] = { ...item, parameters };
  };
  const operations = new Operations(source, dialect);
  if (resource.namespaced && version.verbs.includes("list"))
    make(`${root}/${resource.resource}`, [["get", operations.list("ForAllNamespaces")]]);
  make(collection, [
    ["get", operations.list("")],
    ["post", operations.create()],
    ["delete", operations.deleteCollection()],
  ]);
  make(`${collection}/{name}`, [
    ["get", operations.get()],
    ["put", operations.replace()],
    ["patch", operations.patch()],
    ["delete", operations.remove()],
  ]);
  for (const sub of version.subresources.values()) {
    const on = new Operations(source, dialect, sub);
    make(`${collection}/{name}/${sub.name}`, [
      ["get", on.get()],
      ["post", on.create()],
      ["put", on.replace()],
      ["patch", on.patch()],
    ]);
  }
  return paths;
}

class Operations {
  readonly #source: PathSource;
  readonly #dialect: Dialect;
  readonly #sub: Subresource | undefined;

  constructor(source: PathSource, dialect: Dialect, sub?: Subresource) {
    this.#source = source;
    this.#dialect = dialect;
    this.#sub = sub;
  }

  list(suffix: string): JsonObject | undefined {
    const { resource, version, definitionOf } = this.#source;
    const list = this.#dialect.ref(definitionOf(resource.group, version.name, resource.listKind));
    return this.#operation("list", "list", listParameters, list, { suffix, mediaTypes: listTypes });
  }

  create(): JsonObject | undefined {
    return this.#operation("create", "post", writeParameters, this.#object(), { body: this.#object() });
  }

  get(): JsonObject | undefined {
    return this.#operation("get", this.#sub && !this.#isObject() ? "connect" : "get", [], this.#object(), {});
  }

  replace(): JsonObject | undefined {
    return this.#operation("update", "put", writeParameters, this.#object(), { body: this.#object() });
  }

  patch(): JsonObject | undefined {
    const types = [
      "application/json-patch+json",
      "application/merge-patch+json",
      ...(this.#source.resource.custom ? [] : ["application/strategic-merge-patch+json"]),
      "application/apply-patch+yaml",
    ];
    const body = this.#dialect.ref(patchDefinition);
    return this.#operation("patch", "patch", patchParameters, this.#object(), { body, bodyTypes: types });
  }

  remove(): JsonObject | undefined {
    return this.#operation("delete", "delete", deleteParameters, this.#dialect.ref(statusDefinition), {
      body: this.#dialect.ref(deleteDefinition),
    });
  }

  deleteCollection(): JsonObject | undefined {
    const parameters = [
      ...deleteParameters,
      ...listParameters.filter(([name]) => name !== "watch" && name !== "allowWatchBookmarks"),
    ];
    return this.#operation(
      "deletecollection",
      "deletecollection",
      parameters,
      this.#dialect.ref(statusDefinition),
      {
        body: this.#dialect.ref(deleteDefinition),
      },
    );
  }

  #isObject(): boolean {
    return this.#sub?.kind === this.#source.resource.kind || this.#sub?.name === "scale";
  }

  #object(): JsonObject {
    const { resource, version, definitionOf } = this.#source;
    const {
      group,
      version: at,
      kind,
    } = this.#sub ?? {
      group: resource.group,
      version: version.name,
      kind: resource.kind,
    };
    return this.#dialect.ref(definitionOf(group, at, kind));
  }

  #operation(
    verb: string,
    action: string,
    parameters: readonly (readonly [string, string])[],
    result: JsonObject,
    options: {
      suffix?: string;
      body?: JsonObject;
      bodyTypes?: readonly string[];
      mediaTypes?: readonly string[];
    },
  ): JsonObject | undefined {
    const { resource, version } = this.#source;
    const verbs = this.#sub ? this.#sub.verbs : version.verbs;
    if (!verbs.includes(verb)) return undefined;
    const kind = this.#sub ?? { group: resource.group, version: version.name, kind: resource.kind };
    const query = parameters.map(([name, type]) => this.#dialect.parameter(name, "query", type));
    const { body, bodyTypes = writeTypes, mediaTypes = readTypes } = options;
    const requestBody = body && this.#dialect.body(body, bodyTypes);
    const isParameter = requestBody?.in === "body";
    return {
      tags: [tagOf(resource, version)],
      operationId: operationId(resource, version, action, this.#sub, options.suffix ?? ""),
      ...(query.length + (isParameter ? 1 : 0) > 0 && {
        parameters: isParameter ? [requestBody as JsonObject, ...query] : query,
      }),
      ...(requestBody && !isParameter && { requestBody }),
      responses: {
        "200": this.#dialect.response(result, mediaTypes),
        ...(verb === "create" && { "201": this.#dialect.response(result, mediaTypes) }),
        "401": { description: "Unauthorized" },
      },
      "x-kubernetes-action": action,
      "x-kubernetes-group-version-kind": { group: kind.group, kind: kind.kind, version: kind.version },
    };
  }
}

function tagOf({ group }: ApiResource, { name }: ApiVersion): string {
  return `${camel(group || "core", false)}_${name}`;
}

function operationId(
  resource: ApiResource,
  version: ApiVersion,
  action: string,
  sub: Subresource | undefined,
  suffix: string,
): string {
  const words: Record<string, string> = {
    get: "read",
    post: "create",
    put: "replace",
    deletecollection: "deleteCollection",
  };
  const place = resource.namespaced && suffix === "" ? "Namespaced" : "";
  const group = camel(resource.group || "core", true);
  const subName = sub ? camel(sub.name, true) : "";
  return `${words[action] ?? action}${group}${camel(version.name, true)}${place}${resource.kind}${subName}${suffix}`;
}

/** `rbac.authorization.k8s.io` is `rbacAuthorization`. */
function camel(text: string, first: boolean): string {
  const parts = text.replace(/\.k8s\.io$/, "").split(/[.-]/);
  return parts
    .map((part, i) => (i === 0 && !first ? part : (part[0]?.toUpperCase() ?? "") + part.slice(1)))
    .join("");
}
