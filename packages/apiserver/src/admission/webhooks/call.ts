/** Webhooks over TLS: by URL from the server's machine, behind services through the cluster's network. */
import { lookup as systemLookup } from "node:dns";
import type { RequestOptions } from "node:http";
import { Agent, request as send } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect } from "node:tls";
import type { Service } from "@keelson/core/kinds";
import type { ClusterDialer } from "../../contracts/dialer.ts";
import type { StoreReader } from "../../contracts/store.ts";
import type { WebhookCaller, WebhookTarget } from "../../contracts/webhook.ts";
import { serviceDestination } from "../../proxy/destinations.ts";
import { isGlobalUnicast, parseAddress } from "../../validation/checks/addresses.ts";

/** Clients are few and long-lived; more than this are configurations that come and go. */
const mostAgents = 30;
const dialTimeoutMs = 30_000;
/** Above any review of an object that the server takes, and of a list that it converts. */
const maxAnswerBytes = 64 * 1024 * 1024;

/** Where the connection goes, which the name in the certificate does not say. */
interface Reached {
  readonly host: string;
  readonly port: number;
  readonly through: "machine" | "external" | "cluster";
}

/** Keeps connections to pods open between calls. */
class ClusterAgent extends Agent {
  readonly #dialer: ClusterDialer;

  constructor(dialer: ClusterDialer, options: ConnectionOptions) {
    super({ keepAlive: true, ...options });
    this.#dialer = dialer;
  }

  override createConnection(
    options: RequestOptions,
    done?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    const { host, port, ...rest } = options as ConnectionOptions;
    this.#dialer.dial(host ?? "", port ?? 443, AbortSignal.timeout(dialTimeoutMs)).then(
      (socket) => done?.(null, connect({ ...rest, socket })),
      (error: Error) => done?.(error, undefined as never),
    );
  }
}

/** What a service calls external must not be the server's own machine or link. */
const externalLookup: LookupFunction = (name, options, done) => {
  systemLookup(name, { ...options, all: true }, (error, found) => {
    const refused = found?.find(({ address }) => {
      const parsed = parseAddress(address);
      return !parsed || !isGlobalUnicast(parsed);
    });
    const failure =
      error ?? (refused ? new Error(`${name} is ${refused.address}: address not allowed`) : null);
    if (failure || options.all) done(failure, found ?? []);
    else done(null, found[0]?.address ?? "", found[0]?.family);
  });
};

/** A path as Go joins one: `//convert/` is `/convert`. Suites of Go projects write such URLs. */
function cleanPath(path: string): string {
  return `/${path.split("/").filter(Boolean).join("/")}`;
}

export function socketWebhooks(store: StoreReader, dialer: ClusterDialer): WebhookCaller {
  const agents = new Map<string, Agent>();
  let turn = 0;

  const agentFor = (authorities: string | undefined, name: string, through: Reached["through"]): Agent => {
    const key = `${through}\n${name}\n${authorities ?? ""}`;
    let agent = agents.get(key);
    if (!agent) {
      if (agents.size >= mostAgents) agents.clear();
      const options: ConnectionOptions = {
        // An address is no name to ask for; it is verified all the same.
        ...(isIP(name) === 0 && { servername: name }),
        // As in Go, a certificate that is trusted need not be an authority: suites give the server's own.
        ...(authorities && { ca: authorities, allowPartialTrustChain: true }),
      };
      agent =
        through === "cluster"
          ? new ClusterAgent(dialer, options)
          : new Agent({
              keepAlive: true,
              ...options,
              ...(through === "external" && { lookup: externalLookup }),
            });
      agents.set(key, agent);
    }
    return agent;
  };

  const reach = ({ service }: WebhookTarget, url: URL): Reached => {
    if (!service)
      return {
        host: url.hostname.replace(/^\[|\]$/g, ""),
        port: Number(url.port || 443),
        through: "machine",
      };
    const { namespace, name, port } = service;
    const found = store.get({ group: "", resource: "services" }, namespace, name) as unknown as
      | Service
      | undefined;
    if (!found) throw new Error(`service ${JSON.stringify(name)} not found`);
    const { type, externalName } = found.spec ?? {};
    if (type === "ExternalName" && externalName) return { host: externalName, port, through: "external" };
    const { host, port: targetPort } = serviceDestination(store, namespace, `https:${name}:${port}`, {
      podsOnly: false,
      pick: (count) => turn++ % count,
    });
    return { host, port: targetPort, through: "cluster" };
  };

  const call = (target: WebhookTarget, body: string, signal: AbortSignal, again = false) =>
    new Promise<Awaited<ReturnType<WebhookCaller>>>((resolve, reject) => {
      const url = new URL(target.url);
      const { host, port, through } = reach(target, url);
      const outgoing = send(
        {
          host,
          port,
          path: `${cleanPath(url.pathname)}${url.search}`,
          method: "POST",
          agent: agentFor(target.authorities, url.hostname, through),
          headers: {
            host: url.host,
            accept: "application/json, */*",
            "content-type": "application/json",
            "content-length": Buffer.byteLength(body),
            "user-agent": "kube-apiserver-admission",
          },
          signal,
        },
        (response) => {
          const chunks: Buffer[] = [];
          let size = 0;
          response.on("data", (chunk: Buffer) => {
            size += chunk.length;
            if (size > maxAnswerBytes)
              response.destroy(new Error(`the webhook's answer is longer than ${maxAnswerBytes} bytes`));
            else chunks.push(chunk);
          });
          response.on("error", reject);
          response.on("end", () =>
            resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
          );
        },
      );
      outgoing.on("error", (error: NodeJS.ErrnoException) => {
        // The far end closed a kept connection at the same moment: it has not seen the request.
        if (outgoing.reusedSocket && error.code === "ECONNRESET" && !again)
          call(target, body, signal, true).then(resolve, reject);
        else reject(error);
      });
      outgoing.end(body);
    });

  return (target, body, signal) => call(target, body, signal);
}
