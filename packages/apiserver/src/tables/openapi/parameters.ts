/** Query and path parameters of the API's operations. */
import { lookupTable } from "@keelson/core/internal";

export interface Parameter {
  readonly name: string;
  readonly in: "query" | "path";
  readonly type: "string" | "boolean" | "integer";
  readonly description: string;
}

const descriptions: Readonly<Record<string, string>> = lookupTable({
  allowWatchBookmarks: "Allow events of type BOOKMARK, which tell a watch how far it has come.",
  command: "The command to run and its arguments, one by one. It is not run in a shell.",
  container: "The container of the pod. May be left out when the pod has only one.",
  continue: "What the previous answer gave to go on with a list that comes in parts.",
  dryRun: "With All, the request is handled in full and nothing is stored.",
  fieldManager: "The name of who makes these changes, at most 128 printable characters. Apply requires it.",
  fieldSelector: "Restrict the list of returned objects by their fields. Everything by default.",
  fieldValidation: "What is done about fields that are unknown or given twice: Ignore, Warn or Strict.",
  follow: "Go on as the container writes more.",
  force: "Take fields from other managers instead of failing with a conflict. Only for apply.",
  gracePeriodSeconds: "Seconds that the object has to end. Zero means at once; the kind decides by default.",
  ignoreStoreReadErrorWithClusterBreakingPotential:
    "Delete an object although it can no longer be read from the store. It may break the cluster.",
  insecureSkipTLSVerifyBackend: "Do not verify the certificate of the kubelet that the log comes from.",
  labelSelector: "Restrict the list of returned objects by their labels. Everything by default.",
  limit: "How many objects to return at most. The list's continue field tells whether there are more.",
  limitBytes: "How many bytes to return at most.",
  name: "name of the object",
  namespace: "name of the namespace",
  orphanDependents: "Whether objects that this one owns stay. Superseded by propagationPolicy.",
  path: "The path at the other end, its query included.",
  ports: "The ports to forward.",
  pretty: "With true, the answer is indented.",
  previous: "The log of the container before it was last restarted.",
  propagationPolicy: "What becomes of objects that this one owns: Orphan, Background or Foreground.",
  resourceVersion: "Which state of the store may be answered from.",
  resourceVersionMatch: "How resourceVersion is understood: Exact or NotOlderThan.",
  sendInitialEvents: "Begin a watch with what there is, followed by a bookmark.",
  shardSelector: "Restrict the list of returned objects to a part of the range of their hashes.",
  sinceSeconds: "Only what was written in this many seconds.",
  stderr: "Whether the error output is wanted.",
  stdin: "Whether input is sent.",
  stdout: "Whether the output is wanted.",
  stream: "Which of the container's outputs: All, Stdout or Stderr.",
  tailLines: "How many lines from the end to begin with.",
  timeoutSeconds: "How long the request may take, whatever happens meanwhile.",
  timestamps: "Begin each line with the time when it was written.",
  tty: "Whether to allocate a terminal.",
  watch: "Watch for changes to the described resources and return them as a stream of events.",
});

const booleans = new Set(
  "allowWatchBookmarks follow force ignoreStoreReadErrorWithClusterBreakingPotential insecureSkipTLSVerifyBackend orphanDependents previous sendInitialEvents stderr stdin stdout timestamps tty watch".split(
    " ",
  ),
);
const integers = new Set(
  "gracePeriodSeconds limit limitBytes ports sinceSeconds tailLines timeoutSeconds".split(" "),
);

export function query(name: string): Parameter {
  const type = booleans.has(name) ? "boolean" : integers.has(name) ? "integer" : "string";
  return { name, in: "query", type, description: descriptions[name] ?? "" };
}

export function path(name: string): Parameter {
  return { name, in: "path", type: "string", description: descriptions[name] ?? "" };
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
