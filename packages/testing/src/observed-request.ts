/** A request of a manager, as faults and assertions see it. */
import type { HttpRequest } from "@keelson/core";

/** One request of one manager. */
export interface ObservedRequest {
  readonly manager: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly write: boolean;
  readonly watch: boolean;
  /** The plural name in the path: `deployments`. */
  readonly resource: string;
  readonly body?: string;
  /** Milliseconds of virtual time since the start. */
  readonly atMs: number;
  /** Counts the manager's writes from 1, leases left out; 0 for anything else. */
  readonly index: number;
}

/** Reads a request. `nextIndex` is asked for writes that count. */
export function observe(
  request: HttpRequest,
  at: { readonly manager: string; readonly atMs: number; readonly nextIndex: () => number },
): ObservedRequest {
  const [path = "", query = ""] = request.path.split("?");
  const parameters = new URLSearchParams(query);
  const write = request.method !== "GET" && request.method !== "HEAD" && !parameters.has("dryRun");
  const resource = resourceOf(path);
  const counted = write && resource !== "leases";
  return {
    manager: at.manager,
    method: request.method,
    path,
    query: parameters,
    write,
    watch: parameters.get("watch") === "true",
    resource,
    ...(request.body === undefined ? {} : { body: textOf(request.body) }),
    atMs: at.atMs,
    index: counted ? at.nextIndex() : 0,
  };
}

/** One line that tells a write from others. */
export function describeWrite({ atMs, manager, method, path, body }: ObservedRequest): string {
  const text = body === undefined ? "" : ` ${body.length > 300 ? `${body.slice(0, 300)}…` : body}`;
  return `${(atMs / 1000).toFixed(3)} s ${manager} ${method} ${path}${text}`;
}

/** `/apis/apps/v1/namespaces/default/deployments/web` → `deployments`. */
function resourceOf(path: string): string {
  const parts = path.split("/").filter(Boolean);
  const rest = parts[0] === "api" ? parts.slice(2) : parts.slice(3);
  const namespaced = rest[0] === "namespaces" && rest.length > 2;
  return (namespaced ? rest[2] : rest[0]) ?? "";
}

function textOf(body: Uint8Array | string): string {
  return typeof body === "string" ? body : Buffer.from(body).toString("utf8");
}
