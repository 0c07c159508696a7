/** `/proxy` of nodes, pods and services: requests passed on, answers passed back. */
import type { Random } from "@keelson/core";
import { serviceUnavailable } from "../contracts/status-error.ts";
import type { StoreReader } from "../contracts/store.ts";
import { header, type ServerResponse } from "../messages/message.ts";
import type { Admission } from "../rest/admission.ts";
import type { Exchange } from "../rest/exchange.ts";
import type { SubresourceHandler } from "../rest/subresources.ts";
import { admitConnection, joined, optionsOf } from "./connect.ts";
import { nodeDestination, podDestination, serviceDestination } from "./destinations.ts";
import { streamOf } from "./pod-logs.ts";
import { rewriteLinks } from "./rewrite-links.ts";
import { type Destination, forwardedHeaders, type ProxyResponse, type ProxyTransport } from "./transport.ts";

export interface HttpProxyParts {
  readonly store: StoreReader;
  readonly transport: ProxyTransport;
  readonly random: Random;
  readonly admission: Admission;
}

export function httpProxyHandler(parts: HttpProxyParts): SubresourceHandler {
  return async (exchange): Promise<ServerResponse> => {
    const { info, request } = exchange;
    const asked = proxiedPath(exchange);
    await admitConnection(exchange, parts.admission, optionsOf(exchange, { path: asked }));
    const to = destinationOf(exchange, parts);
    const mark = request.target.indexOf("?");
    const query = mark < 0 ? "" : request.target.slice(mark);
    const path = `${asked || "/"}${query}`;
    const headers = forwardedHeaders(request.headers, request.canUpgrade === true);
    if (request.canUpgrade)
      return {
        status: 101,
        headers: {},
        body: joined(parts.transport, to, { method: request.method, path, headers }),
      };
    // Links of a page are relative to its path, and this one would lack the last part.
    if (asked === "" && (request.method === "GET" || request.method === "HEAD"))
      return { status: 301, headers: { location: `${info.path}/${query}` }, body: "" };
    const prefix = info.path.endsWith(asked)
      ? info.path.slice(0, info.path.length - asked.length)
      : info.path;
    const body = await request.body();
    let response: ProxyResponse;
    try {
      response = await parts.transport.request(to, {
        method: request.method,
        path,
        headers: {
          ...headers,
          "x-forwarded-uri": info.path,
          ...(body.length > 0 || hasBody.has(request.method)
            ? { "content-length": String(body.length) }
            : {}),
        },
        body,
        signal: request.signal,
      });
    } catch (error) {
      throw serviceUnavailable(
        `error trying to reach service: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
    const host = header(request.headers, "host") ?? "";
    const page = { source: `${to.host}:${to.port}`, host, prefix };
    const { status, headers: answered, body: bytes } = rewriteLinks(response, page);
    return { status, headers: passedBack(answered), body: streamOf(bytes) };
  };
}

const hasBody = new Set(["POST", "PUT", "PATCH"]);

/** Neither the hop's own headers nor permissions for other sites, which are this server's to give. */
function passedBack(headers: ProxyResponse["headers"]): ProxyResponse["headers"] {
  const passed: ProxyResponse["headers"] = Object.create(null);
  for (const [name, value] of Object.entries(headers))
    if (!/^(?:transfer-encoding|connection|keep-alive|access-control-allow-.*)$/.test(name))
      passed[name] = value;
  return passed;
}

/** What follows `/proxy`, as it was written, with its slash at the end; empty when nothing does. */
function proxiedPath({ info }: Exchange): string {
  const path = info.rest === "" ? "" : `/${info.rest}`;
  return info.path.endsWith("/") ? `${path}/` : path;
}

function destinationOf({ info, resource }: Exchange, { store, random }: HttpProxyParts): Destination {
  if (resource.resource === "nodes") return nodeDestination(store, info.name);
  if (resource.resource === "pods") return podDestination(store, info.namespace, info.name);
  return serviceDestination(store, info.namespace, info.name, {
    podsOnly: true,
    pick: (count) => Math.floor(random.next() * count),
  });
}
