/** Where a hook is: by URL, or by Service and path. */
import { parseDuration } from "@keelson/core";
import type { EndpointConfig, Webhook } from "../api/webhook.ts";
import { HookError } from "../errors.ts";

const defaultTimeoutMs = 10_000;

/** The URL of a webhook. `what` names the hook in errors. */
export function urlOf(webhook: Webhook, what: string): URL {
  if (webhook.url !== undefined) return parsed(webhook.url, what);
  const { service, path } = webhook;
  if (!service || path === undefined) {
    throw new HookError("InvalidDefinition", `${what} needs a url, or a service and a path`);
  }
  if (service.name === "" || service.namespace === "") {
    throw new HookError("InvalidDefinition", `the service of ${what} needs a name and a namespace`);
  }
  const { protocol = "http", port = 80, name, namespace } = service;
  return parsed(`${protocol}://${name}.${namespace}:${port}${path}`, what);
}

function parsed(text: string, what: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch (cause) {
    throw new HookError("InvalidDefinition", `the address ${JSON.stringify(text)} of ${what} is no URL`, {
      cause,
    });
  }
  if (url.protocol === "http:" || url.protocol === "https:") return url;
  throw new HookError("InvalidDefinition", `${what} is called over http or https, not over ${url.protocol}`);
}

/** How long an answer may take. What makes no sense means the default, as it does for Metacontroller. */
export function timeoutOf({ timeout }: Webhook, what: string): number {
  if (timeout === undefined) return defaultTimeoutMs;
  let ms: number;
  try {
    ms = parseDuration(timeout);
  } catch (cause) {
    throw new HookError(
      "InvalidDefinition",
      `the timeout ${JSON.stringify(timeout)} of ${what} is no duration such as 10s`,
      { cause },
    );
  }
  return ms > 0 ? ms : defaultTimeoutMs;
}

/** The Service that a host of cluster DNS stands for: `name.namespace`, with or without `.svc` and a domain behind it. */
export function serviceOf(url: URL): { name: string; namespace: string; port: number } | undefined {
  const [name = "", namespace = "", svc, ...domain] = url.hostname.split(".");
  if (name === "" || namespace === "" || /^\d+$/.test(name)) return undefined;
  if (svc !== undefined && svc !== "svc") return undefined;
  if (svc === undefined && domain.length > 0) return undefined;
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  return { name, namespace, port };
}

/** The settings of a hook: its own when it has any, otherwise those for its host. */
export function endpointOf(
  webhook: Webhook,
  url: URL,
  configs: readonly EndpointConfig[],
): Partial<Omit<EndpointConfig, "host">> {
  const { caBundle, clientTLS, authorization, basicAuth } = webhook;
  if (caBundle || clientTLS || authorization || basicAuth) {
    return { caBundle, clientTLS, authorization, basicAuth };
  }
  const host = withPort(url.host, url.protocol);
  return configs.find((config) => withPort(config.host.toLowerCase(), url.protocol) === host) ?? {};
}

function withPort(host: string, protocol: string): string {
  return /:\d+$/.test(host) ? host : `${host}:${protocol === "https:" ? 443 : 80}`;
}
