/** Webhooks over TLS; those behind a service at one of its endpoints. */
import { Agent, request as send } from "node:https";
import { isIP } from "node:net";
import type { Service } from "@keelson/core/kinds";
import type { StoreReader } from "../../contracts/store.ts";
import type { WebhookCaller, WebhookTarget } from "../../contracts/webhook.ts";
import { serviceDestination } from "../../proxy/destinations.ts";

/** Clients are few and long-lived; more than this are configurations that come and go. */
const mostAgents = 30;

export function socketWebhooks(store: StoreReader): WebhookCaller {
  const agents = new Map<string, Agent>();
  let turn = 0;

  const agentFor = (authorities: string | undefined, name: string): Agent => {
    const key = `${name}\n${authorities ?? ""}`;
    let agent = agents.get(key);
    if (!agent) {
      if (agents.size >= mostAgents) agents.clear();
      agent = new Agent({
        keepAlive: true,
        // An address is no name to ask for; it is verified all the same.
        ...(isIP(name) === 0 && { servername: name }),
        ...(authorities && { ca: authorities }),
      });
      agents.set(key, agent);
    }
    return agent;
  };

  /** A service without pods of its own is looked up by its name. */
  const reach = ({ service }: WebhookTarget): { host: string; port: number } | undefined => {
    if (!service) return undefined;
    const { namespace, name, port } = service;
    const found = store.get({ group: "", resource: "services" }, namespace, name) as unknown as
      | Service
      | undefined;
    if (!found) throw new Error(`service ${JSON.stringify(name)} not found`);
    const { type, externalName } = found.spec ?? {};
    if (type === "ExternalName" && externalName) return { host: externalName, port };
    return serviceDestination(store, namespace, `https:${name}:${port}`, {
      podsOnly: false,
      pick: (count) => turn++ % count,
    });
  };

  return (target, body, signal) =>
    new Promise((resolve, reject) => {
      const url = new URL(target.url);
      const to = reach(target);
      const outgoing = send(
        {
          host: to?.host ?? url.hostname.replace(/^\[|\]$/g, ""),
          port: to?.port ?? (url.port || 443),
          path: `${url.pathname}${url.search}`,
          method: "POST",
          agent: agentFor(target.authorities, url.hostname),
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
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () =>
            resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
          );
        },
      );
      outgoing.on("error", reject);
      outgoing.end(body);
    });
}
