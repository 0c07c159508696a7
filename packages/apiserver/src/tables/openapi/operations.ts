/** The HTTP operations of each resource, from which both forms of OpenAPI document are written. */
import { definitionName } from "../definitions.ts";
import type { GroupVersion, GroupVersionKindEntry, Resource, Subresource } from "../notation/schema.ts";
import { type Parameter, parameters, path, query } from "./parameters.ts";

export interface Operation {
  readonly path: string;
  readonly method: Method;
  readonly id: string;
  readonly tag: string;
  readonly description: string;
  /** Absent for what is not about an object: discovery. */
  readonly action?: string;
  readonly kind?: GroupVersionKindEntry;
  readonly parameters: readonly Parameter[];
  readonly body?: Body;
  /** Media types of the answer. */
  readonly produces: readonly string[];
  /** Media types of v2's `consumes`; v3 has none without a body. */
  readonly consumes?: readonly string[];
  /** Definition of the answer by status code; undefined for plain text. */
  readonly answers: readonly (readonly [code: number, definition: string | undefined])[];
}

export type Method = "get" | "put" | "post" | "delete" | "options" | "head" | "patch";

export interface Body {
  readonly definition: string;
  readonly required: boolean;
  readonly types: readonly string[];
}

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
const objectTypes = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const streamTypes = [
  ...objectTypes,
  "application/json;stream=watch",
  "application/vnd.kubernetes.protobuf;stream=watch",
];
const patchTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
];
const anyType = ["*/*"];

/** Operations of one group-version, its own discovery included. */
export function operationsOf(groupVersion: GroupVersion): Operation[] {
  const root = groupVersion.group ? `/apis/${groupVersion.groupVersion}` : `/api/${groupVersion.version}`;
  const names = new Names(groupVersion);
  const id = `get${names.prefix}APIResources`;
  const own = discovery(`${root}/`, id, names.tag, "APIResourceList", "get available resources");
  return [
    own,
    ...groupVersion.resources.flatMap((resource) => new ResourceOperations(root, names, resource).all()),
  ];
}

/** Operations of a group's discovery. */
export function operationsOfGroup(group: string): Operation[] {
  if (group === "")
    return [discovery("/api/", "getCoreAPIVersions", "core", "APIVersions", "get available API versions")];
  const name = camelGroup(group);
  const id = `get${upper(name)}APIGroup`;
  return [discovery(`/apis/${group}/`, id, name, "APIGroup", "get information of a group")];
}

const customTypes = ["application/json", "application/yaml"];

/** Operations of a version of a custom resource, whose lists have a definition of their own name. */
export function operationsOfCustom(resource: Resource, listDefinition: string): Operation[] {
  const { group, version, groupVersion } = resource;
  const names = new Names({ group, version });
  const all = new ResourceOperations(`/apis/${groupVersion}`, names, resource).all();
  return all
    .filter(({ action }) => action !== "watch" && action !== "watchlist")
    .map((operation) => asCustom(operation, resource, listDefinition));
}

function asCustom(operation: Operation, resource: Resource, listDefinition: string): Operation {
  const { action, body, consumes: _, ...rest } = operation;
  const { group, version, kind } = resource;
  const isPatch = action === "patch";
  const types = isPatch ? patchTypes.filter((type) => !type.includes("strategic")) : customTypes;
  const common = { ...rest, action, kind: { group, version, kind }, produces: customTypes, consumes: types };
  if (action === "deletecollection")
    return { ...common, parameters: [...parameters.list, ...rest.parameters.filter(isNoOption)] };
  if (action === "list")
    return { ...common, description: `list objects of kind ${kind}`, answers: [[200, listDefinition]] };
  if (action === "get") return { ...common, parameters: [...rest.parameters, query("resourceVersion")] };
  return {
    ...common,
    ...(body && { body: { ...body, types } }),
    ...(isPatch && { answers: rest.answers.slice(0, 1) }),
  };
}

function isNoOption({ in: where, name }: Parameter): boolean {
  return where === "path" || name === "pretty";
}

/** Operations that belong to no group. */
export const rootOperations = {
  apis: discovery("/apis/", "getAPIVersions", "apis", "APIGroupList", "get available API versions"),
  version: {
    ...discovery("/version/", "getCodeVersion", "version", "", "get the version of this server"),
    answers: [[200, "io.k8s.apimachinery.pkg.version.Info"]],
    produces: ["application/json"],
    consumes: ["application/json"],
  },
  keys: {
    path: "/openid/v1/jwks/",
    method: "get",
    id: "getServiceAccountIssuerOpenIDKeyset",
    tag: "openid",
    description: "get the public keys that verify tokens of service accounts",
    parameters: [],
    produces: ["application/jwk-set+json"],
    answers: [[200, undefined]],
  },
  issuer: {
    path: "/.well-known/openid-configuration/",
    method: "get",
    id: "getServiceAccountIssuerOpenIDConfiguration",
    tag: "WellKnown",
    description: "get where tokens of service accounts come from",
    parameters: [],
    produces: ["application/json"],
    answers: [[200, undefined]],
  },
} as const satisfies Record<string, Operation>;

function discovery(at: string, id: string, tag: string, kind: string, description: string): Operation {
  return {
    path: at,
    method: "get",
    id,
    tag,
    description,
    parameters: [],
    produces: objectTypes,
    consumes: objectTypes,
    answers: [[200, `${meta}.${kind}`]],
  };
}

/** What a group-version is called in operation ids and tags. */
class Names {
  readonly prefix: string;
  readonly tag: string;

  constructor({ group, version }: Pick<GroupVersion, "group" | "version">) {
    const name = camelGroup(group || "core");
    this.prefix = upper(name) + upper(version);
    this.tag = `${name}_${version}`;
  }
}

class ResourceOperations {
  private readonly names: Names;
  private readonly resource: Resource;
  /** `/api/v1/namespaces/{namespace}/pods`. */
  private readonly collection: string;
  private readonly everywhere: string;
  private readonly watchRoot: string;
  private readonly pathParameters: readonly Parameter[];
  private readonly scope: string;

  constructor(root: string, names: Names, resource: Resource) {
    this.names = names;
    this.resource = resource;
    const inNamespace = resource.namespaced ? "/namespaces/{namespace}" : "";
    this.collection = `${root}${inNamespace}/${resource.name}`;
    this.everywhere = `${root}/${resource.name}`;
    this.watchRoot = `${root}/watch${inNamespace}/${resource.name}`;
    this.pathParameters = resource.namespaced ? [path("namespace")] : [];
    this.scope = resource.namespaced ? "Namespaced" : "";
  }

  all(): Operation[] {
    const { resource } = this;
    const has = (verb: string) => resource.verbs.includes(verb);
    const operations: Operation[] = [];
    if (has("list")) operations.push(this.list());
    if (has("create")) operations.push(this.create());
    if (has("deletecollection")) operations.push(this.deleteCollection());
    if (has("get")) operations.push(this.read(`${this.collection}/{name}`, "", resource));
    if (has("update")) operations.push(this.replace(`${this.collection}/{name}`, "", resource));
    if (has("patch")) operations.push(this.patch(`${this.collection}/{name}`, "", resource));
    if (has("delete")) operations.push(this.delete());
    if (has("list") && resource.namespaced) operations.push(this.listEverywhere());
    if (has("watch")) operations.push(...this.watches());
    return [...operations, ...resource.subresources.flatMap((entry) => this.subresource(entry))];
  }

  private list(): Operation {
    const parameterList = [...parameters.list, ...this.pathParameters, query("pretty")];
    return this.object("get", this.collection, "list", this.id("list"), {
      parameters: parameterList,
      produces: streamTypes,
      answers: [[200, `${this.resource.definition}List`]],
    });
  }

  private listEverywhere(): Operation {
    return this.object(
      "get",
      this.everywhere,
      "list",
      `list${this.names.prefix}${this.resource.kind}ForAllNamespaces`,
      {
        parameters: [...parameters.list, query("pretty")],
        produces: streamTypes,
        answers: [[200, `${this.resource.definition}List`]],
      },
    );
  }

  private create(): Operation {
    return this.object("post", this.collection, "post", this.id("create"), {
      parameters: [...parameters.write, ...this.pathParameters, query("pretty")],
      body: { definition: this.resource.definition, required: true, types: anyType },
      answers: answers(this.resource.definition, 200, 201, 202),
    });
  }

  private deleteCollection(): Operation {
    const id = `delete${this.names.prefix}Collection${this.scope}${this.resource.kind}`;
    return this.object("delete", this.collection, "deletecollection", id, {
      parameters: [...parameters.deleteCollection, ...this.pathParameters, query("pretty")],
      body: { definition: `${meta}.DeleteOptions`, required: false, types: anyType },
      answers: answers(`${meta}.Status`, 200),
    });
  }

  private delete(): Operation {
    const answer = this.resource.deleteReturnsObject ? this.resource.definition : `${meta}.Status`;
    return this.object("delete", `${this.collection}/{name}`, "delete", this.id("delete"), {
      parameters: [...parameters.delete, ...this.named(), query("pretty")],
      body: { definition: `${meta}.DeleteOptions`, required: false, types: anyType },
      answers: answers(answer, 200, 202),
    });
  }

  private watches(): Operation[] {
    const { prefix } = this.names;
    const { kind } = this.resource;
    const watch = (at: string, action: string, id: string, pathParameters: readonly Parameter[]) =>
      this.object("get", at, action, `watch${prefix}${id}`, {
        parameters: [...parameters.list, ...pathParameters, query("pretty")],
        produces: streamTypes,
        answers: answers(`${meta}.WatchEvent`, 200),
      });
    return [
      watch(this.watchRoot, "watchlist", `${this.scope}${kind}List`, this.pathParameters),
      watch(`${this.watchRoot}/{name}`, "watch", `${this.scope}${kind}`, this.named()),
      ...(this.resource.namespaced
        ? [
            watch(
              this.everywhere.replace(/([^/]+)$/, "watch/$1"),
              "watchlist",
              `${kind}ListForAllNamespaces`,
              [],
            ),
          ]
        : []),
    ];
  }

  private subresource(subresource: Subresource): Operation[] {
    const at = `${this.collection}/{name}/${subresource.name}`;
    const name = upper(subresource.name);
    if (subresource.kind.endsWith("Options")) return this.connect(at, name, subresource);
    const target = { ...subresource, definition: definitionName(subresource) ?? this.resource.definition };
    const has = (verb: string) => subresource.verbs.includes(verb);
    const operations: Operation[] = [];
    if (has("get")) operations.push(subresource.name === "log" ? this.log(at) : this.read(at, name, target));
    if (has("update")) operations.push(this.replace(at, name, target));
    if (has("patch")) operations.push(this.patch(at, name, target));
    if (has("create")) {
      operations.push(
        this.object("post", at, "post", this.id("create", name), {
          kind: target,
          parameters: [...parameters.write, ...this.named(), query("pretty")],
          body: { definition: target.definition, required: true, types: anyType },
          answers: answers(target.definition, 200, 201, 202),
        }),
      );
    }
    return operations;
  }

  private log(at: string): Operation {
    return this.object("get", at, "get", this.id("read", "Log"), {
      parameters: [...parameters.log, ...this.named(), query("pretty")],
      produces: ["text/plain", ...objectTypes],
      answers: [[200, undefined]],
    });
  }

  /** Streams and proxies: every method is the same, and a proxy also takes the rest of the path. */
  private connect(at: string, name: string, subresource: Subresource): Operation[] {
    const isProxy = subresource.name === "proxy";
    const methods: readonly Method[] = isProxy
      ? ["get", "put", "post", "delete", "options", "head", "patch"]
      : ["get", "post"];
    const options = parameters.connect[subresource.name] ?? [];
    const places = isProxy ? [[at, ""] as const, [`${at}/{path}`, "WithPath"] as const] : [[at, ""] as const];
    return places.flatMap(([place, suffix]) =>
      methods.map((method) =>
        this.object(
          method,
          place,
          "connect",
          `connect${this.names.prefix}${upper(method)}${this.scope}${this.resource.kind}${name}${suffix}`,
          {
            kind: subresource,
            parameters: [...options, ...this.named(), ...(suffix ? [path("path")] : [])],
            produces: anyType,
            answers: [[200, undefined]],
          },
        ),
      ),
    );
  }

  private read(
    at: string,
    suffix: string,
    target: GroupVersionKindEntry & { definition: string },
  ): Operation {
    return this.object("get", at, "get", this.id("read", suffix), {
      kind: target,
      parameters: [...this.named(), query("pretty")],
      answers: answers(target.definition, 200),
    });
  }

  private replace(
    at: string,
    suffix: string,
    target: GroupVersionKindEntry & { definition: string },
  ): Operation {
    return this.object("put", at, "put", this.id("replace", suffix), {
      kind: target,
      parameters: [...parameters.write, ...this.named(), query("pretty")],
      body: { definition: target.definition, required: true, types: anyType },
      answers: answers(target.definition, 200, 201),
    });
  }

  private patch(
    at: string,
    suffix: string,
    target: GroupVersionKindEntry & { definition: string },
  ): Operation {
    return this.object("patch", at, "patch", this.id("patch", suffix), {
      kind: target,
      parameters: [...parameters.patch, ...this.named(), query("pretty")],
      body: { definition: `${meta}.Patch`, required: true, types: patchTypes },
      answers: answers(target.definition, 200, 201),
    });
  }

  private object(
    method: Method,
    at: string,
    action: string,
    id: string,
    rest: Partial<Operation> & Pick<Operation, "answers" | "parameters">,
  ): Operation {
    const { group, version, kind } = rest.kind ?? this.resource;
    const consumes = rest.body?.types ?? anyType;
    return {
      produces: objectTypes,
      consumes,
      ...rest,
      path: at,
      method,
      id,
      tag: this.names.tag,
      description: this.describe(action, method, /\{name\}\/(\w+)/.exec(at)?.[1]),
      action,
      kind: { group, version, kind },
    };
  }

  private describe(action: string, method: Method, subresource: string | undefined): string {
    const { kind, verbs } = this.resource;
    const target = `${subresource === undefined ? "" : `${subresource} of `}the specified ${kind}`;
    switch (action) {
      case "list":
        return `list ${verbs.includes("watch") ? "or watch " : ""}objects of kind ${kind}`;
      case "post":
        return `create ${subresource === undefined ? withArticle(kind) : `${subresource} of ${withArticle(kind)}`}`;
      case "deletecollection":
        return `delete collection of ${kind}`;
      case "delete":
        return `delete ${withArticle(kind)}`;
      case "watchlist":
        return `watch individual changes to a list of ${kind}`;
      case "watch":
        return `watch changes to an object of kind ${kind}`;
      case "connect":
        return `connect ${method.toUpperCase()} requests to ${subresource} of ${kind}`;
      default:
        return `${{ get: "read", put: "replace", patch: "partially update" }[action]} ${target}`;
    }
  }

  private id(verb: string, suffix = ""): string {
    return `${verb}${this.names.prefix}${this.scope}${this.resource.kind}${suffix}`;
  }

  private named(): readonly Parameter[] {
    return [path("name"), ...this.pathParameters];
  }
}

/** An Event, a Pod, Endpoints. */
function withArticle(kind: string): string {
  if (/[^s]s$/.test(kind)) return kind;
  return `${/^[AEIOU]/.test(kind) ? "an" : "a"} ${kind}`;
}

function answers(definition: string, ...codes: number[]): (readonly [number, string])[] {
  return codes.map((code) => [code, definition]);
}

/** `rbac.authorization.k8s.io` is called rbacAuthorization. */
function camelGroup(group: string): string {
  const [first = "", ...others] = group.replace(/\.k8s\.io$/, "").split(".");
  return first + others.map(upper).join("");
}

function upper(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
