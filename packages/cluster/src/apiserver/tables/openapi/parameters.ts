/** Query and path parameters of the API's operations. */

export interface Parameter {
  readonly name: string;
  readonly in: "query" | "path";
  readonly type: "string" | "boolean" | "integer";
}

const booleans = new Set(
  "allowWatchBookmarks follow force ignoreStoreReadErrorWithClusterBreakingPotential insecureSkipTLSVerifyBackend orphanDependents previous sendInitialEvents stderr stdin stdout timestamps tty watch".split(
    " ",
  ),
);
const integers = new Set(
  "gracePeriodSeconds limit limitBytes ports sinceSeconds tailLines timeoutSeconds".split(" "),
);

export function query(name: string): Parameter {
  return {
    name,
    in: "query",
    type: booleans.has(name) ? "boolean" : integers.has(name) ? "integer" : "string",
  };
}

export function path(name: string): Parameter {
  return { name, in: "path", type: "string" };
}

const queries = (names: string): readonly Parameter[] => names.split(" ").map(query);

const selection =
  "continue fieldSelector labelSelector limit resourceVersion resourceVersionMatch sendInitialEvents shardSelector timeoutSeconds";
const removal =
  "dryRun gracePeriodSeconds ignoreStoreReadErrorWithClusterBreakingPotential orphanDependents propagationPolicy";

export const parameters = {
  list: queries(`allowWatchBookmarks ${selection} watch`),
  write: queries("dryRun fieldManager fieldValidation"),
  patch: queries("dryRun fieldManager fieldValidation force"),
  delete: queries(removal),
  deleteCollection: queries(`${selection} ${removal}`),
  log: queries(
    "container follow insecureSkipTLSVerifyBackend limitBytes previous sinceSeconds stream tailLines timestamps",
  ),
  connect: {
    attach: queries("container stderr stdin stdout tty"),
    exec: queries("command container stderr stdin stdout tty"),
    portforward: queries("ports"),
    proxy: queries("path"),
  } as Readonly<Record<string, readonly Parameter[]>>,
};

/** Parameters that all of the given lists have: OpenAPI writes them once, at the path. */
export function shared(lists: readonly (readonly Parameter[])[]): Parameter[] {
  const [first = [], ...others] = lists;
  return first.filter((parameter) => others.every((list) => list.some((other) => same(parameter, other))));
}

export function same(a: Parameter, b: Parameter): boolean {
  return a.name === b.name && a.in === b.in;
}

/** By name, as the server lists them. */
export function sorted(list: readonly Parameter[]): Parameter[] {
  return [...list].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}
