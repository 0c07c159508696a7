/** Which proxy the environment names for an address, by the rules that Go programs follow. */
import { BlockList, isIP } from "node:net";
import type { ServerAddress } from "../transport/server-address.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Undefined when the address is reached directly. */
export function environmentProxy(server: ServerAddress, env: Environment): string | undefined {
  const name = server.secure ? "HTTPS_PROXY" : "HTTP_PROXY";
  const proxy = env[name] || env[name.toLowerCase()];
  if (!proxy || server.socketPath || isLoopback(server.host)) return undefined;
  return isExempt(server, env.NO_PROXY || env.no_proxy || "") ? undefined : proxy;
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

/**
 * `NO_PROXY` holds names (with their subdomains), names with a leading dot (subdomains only), addresses, ranges
 * of addresses, any of these with a port, or `*` for everything.
 */
function isExempt(server: ServerAddress, list: string): boolean {
  const host = server.host.toLowerCase().replace(/\.$/, "");
  return list
    .split(",")
    .map((item) => item.trim().toLowerCase())
    .filter((item) => item !== "")
    .some((item) => item === "*" || matches(host, server.port, item));
}

function matches(host: string, port: number, item: string): boolean {
  const range = /^([0-9a-f.:]+)\/(\d+)$/.exec(item);
  if (range?.[1]) return isIP(host) !== 0 && inRange(host, range[1], Number(range[2]));
  const withPort = /^(\[[0-9a-f:.]+\]|[^:]+):(\d+)$/.exec(item);
  if (withPort && Number(withPort[2]) !== port) return false;
  const name = (withPort?.[1] ?? item).replace(/^\[(.*)\]$/, "$1");
  if (isIP(name) !== 0) return host === name;
  if (name.startsWith("*.")) return host.endsWith(name.slice(1));
  return name.startsWith(".") ? host.endsWith(name) : host === name || host.endsWith(`.${name}`);
}

function inRange(host: string, network: string, prefix: number): boolean {
  const family = isIP(network) === 6 ? "ipv6" : "ipv4";
  if (isIP(network) === 0 || (isIP(host) === 6) !== (family === "ipv6")) return false;
  const list = new BlockList();
  try {
    list.addSubnet(network, prefix, family);
  } catch {
    return false;
  }
  return list.check(host, family);
}
