/** exec, attach and port-forward: the client's connection, joined to the kubelet's. */
import type { JsonObject } from "@keelson/core";
import type { Authorizer } from "../contracts/authorization.ts";
import type { ApiObject } from "../contracts/object.ts";
import { badRequest, failure, forbidden, internalError, notFound } from "../contracts/status-error.ts";
import type { StoreReader } from "../contracts/store.ts";
import type { Hijack, HijackedClient } from "../messages/message.ts";
import type { Admission } from "../rest/admission.ts";
import type { Exchange } from "../rest/exchange.ts";
import type { SubresourceHandler } from "../rest/subresources.ts";
import { containerOf } from "./containers.ts";
import { kubeletOf } from "./destinations.ts";
import {
  type Destination,
  forwardedHeaders,
  type ProxyRequest,
  type ProxyTransport,
  type ProxyUpgrade,
} from "./transport.ts";

export interface ConnectParts {
  readonly store: StoreReader;
  readonly transport: ProxyTransport;
  readonly admission: Admission;
  readonly authorizer: Authorizer;
}

const isTrue = (value: string | null) => value === "true" || value === "1";

export function connectHandler(parts: ConnectParts): SubresourceHandler {
  return async (exchange) => {
    const { info, request, resource } = exchange;
    await authorizeCreate(exchange, parts.authorizer);
    await admitConnection(exchange, parts.admission, connectOptions(exchange));
    const pod = parts.store.get({ group: "", resource: "pods" }, info.namespace, info.name);
    if (!pod) throw notFound(resource, info.name);
    const { nodeName } = (pod.spec ?? {}) as { nodeName?: string };
    const container = info.subresource === "portforward" ? "" : containerOf(pod, info.query.get("container"));
    if (!nodeName) throw badRequest(`pod ${info.name} does not have a host assigned`);
    const to = kubeletOf(parts.store, nodeName, "pods");
    const path =
      info.subresource === "portforward" ? portForwardPath(exchange) : commandPath(exchange, container);
    if (!request.canUpgrade)
      throw failure({ code: 400, reason: "BadRequest", message: "Upgrade request required" });
    const outgoing: ProxyRequest = {
      method: request.method,
      path,
      headers: forwardedHeaders(request.headers, true),
    };
    return { status: 101, headers: {}, body: joined(parts.transport, to, outgoing) };
  };
}

/** What is admitted is the connection's options, and not the pod or node that is connected to. */
export async function admitConnection(
  exchange: Exchange,
  admission: Admission,
  options: ApiObject | undefined,
): Promise<void> {
  const { resource, version, info } = exchange;
  const sub = version.subresources.get(info.subresource);
  const input = {
    operation: "CONNECT" as const,
    dryRun: false,
    options: undefined,
    object: options,
    oldObject: undefined,
    ...(sub && { kind: { group: resource.group, version: version.name, kind: sub.kind } }),
  };
  await admission.admit(exchange, input);
  await admission.validate(exchange, input);
}

/** An object of the subresource's own kind, as `PodExecOptions`; fields that say nothing are left out. */
export function optionsOf({ version, info }: Exchange, fields: JsonObject): ApiObject | undefined {
  const sub = version.subresources.get(info.subresource);
  if (!sub) return undefined;
  const said = Object.entries(fields).filter(([, value]) => value !== false && value !== "");
  return { kind: sub.kind, apiVersion: version.name, ...Object.fromEntries(said) } as JsonObject as ApiObject;
}

/** The query as the options that it stands for. */
function connectOptions(exchange: Exchange): ApiObject | undefined {
  const { query, subresource } = exchange.info;
  if (subresource === "portforward") {
    const ports = query.getAll("ports").flatMap((text) => text.split(","));
    return optionsOf(exchange, ports.length > 0 ? { ports: ports.map(Number) } : {});
  }
  const streams = Object.fromEntries(
    ["stdin", "stdout", "stderr", "tty"].map((name) => [name, isTrue(query.get(name))]),
  );
  const command = query.getAll("command");
  return optionsOf(exchange, {
    ...streams,
    container: query.get("container") ?? "",
    ...(subresource === "exec" && { command: command.length > 0 ? command : null }),
  });
}

/** WebSockets open with GET, and a user who may only read must not run anything. */
async function authorizeCreate({ info, user }: Exchange, authorizer: Authorizer): Promise<void> {
  if (info.verb === "create") return;
  const { decision, reason } = await authorizer.authorize({
    user,
    verb: "create",
    resourceRequest: true,
    group: info.group,
    version: info.version,
    resource: info.resource,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    path: info.path,
  });
  if (decision !== "allow") throw forbidden(info, info.name, reason);
}

function commandPath({ info }: Exchange, container: string): string {
  const query = new URLSearchParams();
  const flags = { input: "stdin", output: "stdout", error: "stderr", tty: "tty" } as const;
  for (const [name, asked] of Object.entries(flags)) if (isTrue(info.query.get(asked))) query.set(name, "1");
  if (![...query.keys()].some((name) => name !== "tty"))
    throw badRequest("you must specify at least 1 of stdin, stdout, stderr");
  for (const command of info.query.getAll("command")) query.append("command", command);
  if (info.subresource === "exec" && !query.has("command"))
    throw badRequest("you must specify at least 1 command");
  return `/${info.subresource}/${info.namespace}/${info.name}/${container}?${query}`;
}

function portForwardPath({ info }: Exchange): string {
  const query = new URLSearchParams();
  for (const ports of info.query.getAll("ports"))
    for (const port of ports.split(",")) {
      if (!/^\d+$/.test(port)) throw badRequest(`cannot parse port ${JSON.stringify(port)}`);
      query.append("port", port);
    }
  const text = query.toString();
  return `/portForward/${info.namespace}/${info.name}${text ? `?${text}` : ""}`;
}

/** Connects both sides when the client's is free. Bytes pass both ways until either side ends. */
export function joined(transport: ProxyTransport, to: Destination, request: ProxyRequest): Hijack {
  return {
    async hijack(client) {
      let upgraded: ProxyUpgrade;
      try {
        upgraded = await transport.upgrade(to, request);
      } catch (error) {
        throw internalError(
          `error dialing backend: ${error instanceof Error ? error.message : String(error)}`,
          error,
        );
      }
      if (!upgraded.accepted) {
        await refuse(client, upgraded.response);
        return;
      }
      const stream = client.accept(101, upgraded.headers);
      const far = upgraded.stream;
      if (upgraded.head.length > 0) stream.write(upgraded.head);
      const end = () => {
        stream.destroy();
        far.destroy();
      };
      for (const side of [stream, far]) side.on("error", end).once("close", end);
      stream.pipe(far);
      far.pipe(stream);
    },
  };
}

async function refuse(client: HijackedClient, response: { status: number; body: AsyncIterable<Uint8Array> }) {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  client.refuse(response.status, Buffer.concat(chunks));
}
