/** What a request's line asks for: the API group, the resource, the verb. */
import { type FieldSelector, parseFieldSelector } from "@keelson/core";
import { lookupTable, requiredFieldValue } from "@keelson/core/internal";

export interface RequestInfo {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly isResource: boolean;
  /** Kubernetes' verb for resources, the method in lower case for other paths. */
  readonly verb: string;
  /** `api` or `apis`. */
  readonly prefix: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** What a list, a watch or a deletecollection selects by; absent when it cannot be read, which is refused later. */
  readonly fieldSelector?: FieldSelector;
  /** The verb is part of the path, as in `/api/v1/watch/pods`. */
  readonly verbInPath: boolean;
  /** What follows the subresource, as the path of a proxy. */
  readonly rest: string;
  /** The path has a namespace before the resource. */
  readonly namespaced: boolean;
}

const namespaceSubresources = new Set(["status", "finalize"]);
const methodVerbs: Record<string, string> = lookupTable({
  POST: "create",
  GET: "get",
  HEAD: "get",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
});

/** Most requests have none, and nobody changes what was asked. */
const noQuery = new URLSearchParams();

export function parseRequestInfo(method: string, target: string): RequestInfo {
  const mark = target.indexOf("?");
  const rawPath = mark < 0 ? target : target.slice(0, mark);
  const query = mark < 0 ? noQuery : new URLSearchParams(target.slice(mark + 1));
  const segments = rawPath.split("/").filter((part) => part !== "");
  // A slash is one however it is written.
  const parts = rawPath.includes("%") ? segments.flatMap((part) => decode(part).split("/")) : segments;
  const path = rawPath.startsWith("/") ? rawPath : `/${rawPath}`;
  const prefix = parts[0];
  if ((prefix !== "api" && prefix !== "apis") || parts.length < 3) return otherPath(method, path, query);
  const grouped = prefix === "apis";
  // /apis/<group>/<version> is discovery; a resource needs one part more.
  if (grouped && parts.length < 4) return otherPath(method, path, query);
  let at = grouped ? 3 : 2;
  let verb = methodVerbs[method] ?? "";
  const verbInPath = parts[at] === "watch" && parts.length > at + 1;
  if (verbInPath) {
    verb = "watch";
    at++;
  }
  const group = grouped ? (parts[1] as string) : "";
  const version = (grouped ? parts[2] : parts[1]) as string;
  let namespace = "";
  let rest = parts.slice(at);
  let namespaced = false;
  if (rest[0] === "namespaces" && group === "" && rest.length > 1) {
    namespace = rest[1] as string;
    if (rest.length > 2 && !namespaceSubresources.has(rest[2] as string)) {
      rest = rest.slice(2);
      namespaced = true;
    }
  } else if (rest[0] === "namespaces" && rest.length > 2) {
    namespace = rest[1] as string;
    rest = rest.slice(2);
    namespaced = true;
  }
  const [resource = "", name = "", subresource = ""] = rest;
  let finalName = name;
  if (name === "" && verb === "delete") verb = "deletecollection";
  if (name === "" && verb === "get") verb = isTrue(query.get("watch")) ? "watch" : "list";
  // Watches of the old form read selectors in part only: nothing is granted for what they select.
  const selects = !verbInPath && withSelectors.has(verb);
  const fieldSelector = selects ? readFieldSelector(query) : undefined;
  // Who may read objects by name may list them by name.
  if (fieldSelector && name === "" && verb !== "deletecollection")
    finalName = pathSegment(requiredFieldValue(fieldSelector, "metadata.name"));
  return {
    path,
    query,
    isResource: true,
    verb,
    prefix,
    group,
    version,
    namespace,
    resource,
    subresource,
    name: finalName,
    ...(fieldSelector && { fieldSelector }),
    verbInPath,
    rest: segments.slice(at + (parts.length - at - rest.length) + 3).join("/"),
    namespaced,
  };
}

function otherPath(method: string, path: string, query: URLSearchParams): RequestInfo {
  return {
    path,
    query,
    isResource: false,
    verb: method.toLowerCase(),
    prefix: "",
    group: "",
    version: "",
    namespace: "",
    resource: "",
    subresource: "",
    name: "",
    verbInPath: false,
    rest: "",
    namespaced: false,
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** As Go's strconv.ParseBool and the query decoder see it: present and not false. */
export function isTrue(value: string | null): boolean {
  if (value === null) return false;
  return value !== "0" && value.toLowerCase() !== "false";
}

const withSelectors = new Set(["list", "watch", "deletecollection"]);

function readFieldSelector(query: URLSearchParams): FieldSelector | undefined {
  const text = query.get("fieldSelector");
  if (!text) return undefined;
  try {
    return parseFieldSelector(text);
  } catch {
    return undefined;
  }
}

/** Empty for what could not be a name in a path. */
function pathSegment(name = ""): string {
  return name === "." || name === ".." || /[/%]/.test(name) ? "" : name;
}
