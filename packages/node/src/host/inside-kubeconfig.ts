/** The kubeconfig for inside the namespace: the same cluster and user, behind a relay. */
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import type { Kubeconfig } from "@keelson/client";
import { NodeError } from "../errors.ts";

export interface InsideKubeconfig {
  /** Where the API server is, as seen from outside. */
  readonly server: { readonly host: string; readonly port: number };
  readonly document: Readonly<Record<string, unknown>>;
  /** PEM of the cluster's authority, which also signs the API server's own client certificate. */
  readonly authority: string | undefined;
}

export function insideKubeconfig(config: Kubeconfig, relayPort: number): InsideKubeconfig {
  const context = config.contexts.get(config.currentContext ?? "");
  const cluster = config.clusters.get(context?.cluster ?? "");
  if (context === undefined || cluster === undefined) {
    throw new NodeError(
      "BadConfiguration",
      "the kubeconfig has no current context with a cluster: set current-context",
    );
  }
  const user = config.users.get(context.user ?? "") ?? {};
  const url = new URL(cluster.server);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  // Inside, the server is 127.0.0.1: its certificate names that, or the name it has outside must be told.
  const serverName = cluster.tlsServerName ?? (host === "127.0.0.1" || isIP(host) ? undefined : host);
  const given = (entries: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
  const base64 = (pem: string | undefined) =>
    pem === undefined ? undefined : Buffer.from(pem).toString("base64");
  const document = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "node",
    contexts: [{ name: "node", context: { cluster: "node", user: "node" } }],
    clusters: [
      {
        name: "node",
        cluster: given({
          server: `${url.protocol}//127.0.0.1:${relayPort}${url.pathname === "/" ? "" : url.pathname}`,
          "tls-server-name": serverName,
          "insecure-skip-tls-verify": cluster.insecureSkipTlsVerify,
          "certificate-authority": cluster.certificateAuthority,
          "certificate-authority-data": base64(cluster.certificateAuthorityData),
        }),
      },
    ],
    users: [
      {
        name: "node",
        user: given({
          "client-certificate": user.clientCertificate,
          "client-certificate-data": base64(user.clientCertificateData),
          "client-key": user.clientKey,
          "client-key-data": base64(user.clientKeyData),
          token: user.token,
          tokenFile: user.tokenFile,
          username: user.username,
          password: user.password,
        }),
      },
    ],
  };
  const authority =
    cluster.certificateAuthorityData ??
    (cluster.certificateAuthority === undefined
      ? undefined
      : readFileSync(cluster.certificateAuthority, "utf8"));
  return { server: { host, port }, document, authority };
}
