/** `/proxy` of nodes, pods and services: requests passed on, answers passed back. */
import type { Random } from "@keelson/core";
import { serviceUnavailable } from "../contracts/status-error.ts";
import type { StoreReader } from "../contracts/store.ts";
import type { SubresourceHandler } from "../rest/subresources.ts";
import { joined } from "./connect.ts";
import { nodeDestination, podDestination, serviceDestination } from "./destinations.ts";
import { streamOf } from "./pod-logs.ts";
import { type Destination, forwardedHeaders, type ProxyResponse, type ProxyTransport } from "./transport.ts";

export interface HttpProxyParts {
  readonly store: StoreReader;
  readonly transport: ProxyTransport;
  readonly random: Random;
}

export function httpProxyHandler(parts: HttpProxyParts): SubresourceHandler {
  return async (exchange) => {
    const { info, request, resource } = exchange;
    const { store } = parts;
    let to: Destination;
    if (resource.resource === "nodes") to = nodeDestination(store, info.name);
    else if (resource.resource === "pods") to = podDestination(store, info.namespace, info.name);
    else
      to = serviceDestination(store, info.namespace, info.name, {
        podsOnly: true,
        pick: (count) => Math.floor(parts.random.next() * count),
      });
    const query = info.query.toString();
    const slash = info.path.endsWith("/") && info.rest !== "" ? "/" : "";
    const path = `/${info.rest}${slash}${query ? `?${query}` : ""}`;
    const headers = forwardedHeaders(request.headers, request.canUpgrade === true);
    if (request.canUpgrade)
      return {
        status: 101,
        headers: {},
        body: joined(parts.transport, to, { method: request.method, path, headers }),
      };
    const body = await request.body();
    let response: ProxyResponse;
    try {
      response = await parts.transport.request(to, {
        method: request.method,
        path,
        headers: { ...headers, "content-length": String(body.length) },
        body,
        signal: request.signal,
      });
    } catch (error) {
      throw serviceUnavailable(
        `error trying to reach service: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
    const { "transfer-encoding": _t, connection: _c, "content-length": _l, ...passed } = response.headers;
    return { status: response.status, headers: passed, body: streamOf(response.body) };
  };
}
