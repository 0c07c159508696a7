/** Which answers are faults of the server. */
import type { FuzzRequest } from "./requests.ts";
import type { Reply } from "./server.ts";

/** What kube-apiserver answers with a 500 as well. */
const knownFailures: readonly RegExp[] = [
  // An object that does not fit its schema, where its owner of fields is to be worked out.
  /failed to create typed|failed to convert|unable to convert|expected map|typed patch object/,
  /resourceVersion should not be set/,
  // A strategic merge patch that cannot be done, in the words of the library that does it.
  /does not contain declared merge key|without merge key|merging lists cannot yet be specified/,
  /list element types are not identical|no elements in any of the given slices|lists of lists are not/,
  /unknown patch type|unexpected patch strategy|data type is not struct|unable to find api field in struct/,
  /, but received a |doesn.t match \$setElementOrder list/,
  /strconv\.ParseUint: parsing/,
  // The rules of a binding are told without a reason.
  /target\.(?:kind|name): /,
  // A pod without a node, and a node without an address, cannot be asked for logs or anything else.
  /address not allowed|no preferred addresses found|could not find the requested resource|dial tcp/,
  /has more than one PodDisruptionBudget/,
];

/** Why the answer is a fault; undefined when it is fine. */
export function faultOf({ method }: FuzzRequest, { status, type, body }: Reply): string | undefined {
  if (status < 200) return `status ${status}`;
  if (status < 500 || method === "HEAD") return undefined;
  if (status === 503 || status === 504) return undefined;
  const message = type.includes("json") ? messageIn(body) : body.toString("latin1");
  if (knownFailures.some((known) => known.test(message))) return undefined;
  return `${status}: ${message.slice(0, 300)}`;
}

function messageIn(body: Buffer): string {
  try {
    return String((JSON.parse(body.toString()) as { message?: unknown }).message ?? "");
  } catch {
    return body.toString("latin1");
  }
}
