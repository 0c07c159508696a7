/** Keeps a process that no longer leads from writing: the last gate before the wire. */
import { type Client, createClient } from "@keelson/client";
import type { HttpPort, HttpRequest } from "@keelson/core";
import { RuntimeError } from "./errors.ts";

/** Whether this process may write now. */
export interface Fence {
  /** False from the moment at which another process may believe that it leads. */
  mayWrite(): boolean;
}

export const openFence: Fence = { mayWrite: () => true };

/**
 * The client with a gate at its transport: every write, retries included, is refused on this side of the wire once
 * the fence is down. Reads pass: a standby keeps its caches warm with them.
 */
export function fenced(client: Client, fence: Fence): Client {
  const { http } = client;
  const allow = (request: HttpRequest) => {
    if (isRead(request.method) || fence.mayWrite()) return;
    throw new RuntimeError(
      "LeaseLost",
      `${request.method} ${request.path.split("?")[0]} was not sent: this process does not lead (any more)`,
    );
  };
  const port: HttpPort = {
    request: async (request) => {
      allow(request);
      return await http.request(withHeaders(request, client));
    },
    ...(http.upgrade
      ? {
          upgrade: async (request: HttpRequest) => {
            allow(request);
            return await (http.upgrade as NonNullable<HttpPort["upgrade"]>)(withHeaders(request, client));
          },
        }
      : {}),
  };
  const { namespace, fieldManager, clock, random } = client;
  return createClient({ http: port, namespace, fieldManager, clock, random, onClose: () => client.close() });
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}

/** The new client has headers of its own; those of the old one (whom it acts as) must not be lost. */
function withHeaders(request: HttpRequest, client: Client): HttpRequest {
  return { ...request, headers: { ...request.headers, ...client.headers } };
}
