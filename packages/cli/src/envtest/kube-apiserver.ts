/** Stands in for kube-apiserver where a suite of Go's envtest starts one: our server, by its flags. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ApiServerFlags, RunningApiServer } from "@keelson/apiserver";
import { parseFlags } from "./arguments.ts";

/** Flags that change nothing a test of an operator could see here: there is no etcd, no audit and no other server. */
const irrelevant =
  /^(advertise-address|allow-privileged|api-audiences|audit-.*|bind-address|cert-dir|egress-.*|etcd-.*|external-hostname|feature-gates|goaway-.*|kubelet-.*|logging-format|max-.*|min-request-timeout|oidc-.*|profiling|proxy-client-.*|requestheader-.*|runtime-config|service-account-.*|service-node-port-range|shutdown-.*|storage-.*|target-ram-mb|tls-.*|v|vmodule|watch-cache.*)$/;

export interface StandInFlags {
  readonly flags: ApiServerFlags;
  /** Flags that nothing is done about, and that may matter. */
  readonly unknown: readonly string[];
}

const names = {
  "authorization-mode": "authorizationMode",
  "client-ca-file": "clientCaFile",
  "disable-admission-plugins": "disableAdmissionPlugins",
  "enable-admission-plugins": "enableAdmissionPlugins",
  "event-ttl": "eventTtl",
  "service-account-issuer": "serviceAccountIssuer",
  "service-account-key-file": "serviceAccountKeyFile",
  "service-account-signing-key-file": "serviceAccountSigningKeyFile",
  "service-cluster-ip-range": "serviceClusterIpRange",
  "tls-cert-file": "tlsCertFile",
  "tls-private-key-file": "tlsPrivateKeyFile",
  "token-auth-file": "tokenAuthFile",
} as const satisfies Record<string, keyof ApiServerFlags>;

/** Those that have an effect. */
export const apiServerFlagNames: readonly string[] = ["secure-port", ...Object.keys(names)];

export function standInFlags(args: readonly string[]): StandInFlags {
  const given = parseFlags(args);
  const flags: { -readonly [Name in keyof ApiServerFlags]: ApiServerFlags[Name] } = {
    port: Number(given.get("secure-port") ?? 6443),
  };
  for (const [name, field] of Object.entries(names)) {
    const value = given.get(name);
    if (value !== undefined) flags[field] = value;
  }
  const directory = given.get("cert-dir");
  const own = directory === undefined ? undefined : join(directory, "apiserver");
  if (flags.tlsCertFile === undefined && own !== undefined && existsSync(`${own}.crt`)) {
    flags.tlsCertFile = `${own}.crt`;
    flags.tlsPrivateKeyFile = `${own}.key`;
  }
  const unknown = [...given.keys()].filter(
    (name) => name !== "secure-port" && !(name in names) && !irrelevant.test(name),
  );
  return { flags, unknown };
}

export async function startStandIn(
  args: readonly string[],
  warn: (line: string) => void,
): Promise<RunningApiServer> {
  const { startApiServer } = await import("@keelson/apiserver");
  const { flags, unknown } = standInFlags(args);
  for (const name of unknown) warn(`--${name} has no effect on Keelson's API server`);
  return await startApiServer(flags);
}
