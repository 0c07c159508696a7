/** Holds managers to the role that their declarations give, and remembers what of it they used. */
import type { HttpRequest } from "@keelson/core";
import type { PolicyRule, Verb } from "@keelson/runtime";

/** What a request asks for, in the words of authorization; undefined for paths that every client may read. */
export interface Access {
  readonly verb: Verb;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

export class RoleGate {
  readonly #rules: readonly PolicyRule[];
  readonly #used = new Set<string>();
  /** What was asked for and refused. */
  readonly refused: string[] = [];

  constructor(rules: readonly PolicyRule[]) {
    this.#rules = rules;
  }

  /** The server's sentence when the role does not allow the request. */
  refusal(request: HttpRequest, user: string): string | undefined {
    const access = accessOf(request);
    if (!access) return undefined;
    const { verb, group, resource, namespace, name } = access;
    const rule = this.#rules.find(
      (each) =>
        each.apiGroups.includes(group) &&
        each.resources.includes(resource) &&
        each.verbs.includes(verb) &&
        (each.resourceNames === undefined || each.resourceNames.includes(name)),
    );
    if (rule) {
      this.#used.add(`${verb} ${resource}.${group}`);
      // An apply that finds nothing creates, and the server asks for both.
      if (isApply(request)) this.#used.add(`create ${resource}.${group}`);
      return undefined;
    }
    const what = group === "" ? resource : `${resource}.${group}`;
    const target = name === "" ? what : `${what} "${name}"`;
    const where = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
    const message = `${target} is forbidden: User "${user}" cannot ${verb} resource "${resource}" in API group "${group}" ${where}`;
    this.refused.push(message);
    return message;
  }

  /** Permissions that the role gives and no request has used: `delete pods.`. */
  unused(): string[] {
    const granted = this.#rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${group}`)),
      ),
    );
    return [...new Set(granted)].filter((each) => !this.#used.has(each)).sort();
  }
}

function isApply({ headers }: HttpRequest): boolean {
  return String(headers?.["content-type"] ?? "").includes("apply-patch");
}

function accessOf({ method, path: target }: HttpRequest): Access | undefined {
  const [path = "", search = ""] = target.split("?");
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  const [root, ...afterRoot] = parts;
  if (root !== "api" && root !== "apis") return undefined;
  const group = root === "api" ? "" : (afterRoot[0] ?? "");
  const rest = afterRoot.slice(root === "api" ? 1 : 2);
  if (rest.length === 0) return undefined;
  const namespaced = rest[0] === "namespaces" && rest.length > 2;
  const namespace = namespaced ? (rest[1] ?? "") : "";
  const [resource = "", name = "", subresource] = namespaced ? rest.slice(2) : rest;
  const query = new URLSearchParams(search);
  const field = /^metadata\.name=(.+)$/.exec(query.get("fieldSelector") ?? "")?.[1];
  return {
    verb: verbOf(method, name !== "", query.get("watch") === "true"),
    group,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    // A watch or list of one object by name is limited by that name.
    name: name || field || "",
  };
}

function verbOf(method: string, named: boolean, watching: boolean): Verb {
  switch (method) {
    case "GET":
    case "HEAD":
      return watching ? "watch" : named ? "get" : "list";
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    default:
      return named ? "delete" : "deletecollection";
  }
}
