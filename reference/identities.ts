// Everybody's credentials in one control plane: certificates, service account keys, the admin's token, kubeconfigs.
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createAuthority, createLeaf, type KeyPair, type Subject } from "@keelson/pki";
import { kubernetesServiceAddress, type Layout } from "./program-flags.ts";

/** Writes certificates, keys, tokens and kubeconfigs, and gives the authority's certificate. */
export function writeIdentities(layout: Layout, server: string, token: string): string {
  if (!/^[\x21\x23-\x2b\x2d-\x7e]+$/.test(token))
    throw new TypeError(`a token is printable and has no space, comma or quote: ${JSON.stringify(token)}`);
  const ca = authority("keelson-reference-ca");
  const hosts = [
    "127.0.0.1",
    "localhost",
    kubernetesServiceAddress,
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
  ];
  const serviceAccounts = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const write = (name: string, text: string) => writeFileSync(layout.file(name), text, { mode: 0o600 });
  const writePair = (name: string, pair: KeyPair) => {
    write(`${name}.crt`, pair.certificate);
    write(`${name}.key`, pair.key);
  };
  writePair("ca", ca);
  writePair("server", issue(ca, { commonName: "kube-apiserver" }, hosts));
  writePair(
    "kubelet-client",
    issue(ca, { commonName: "kube-apiserver-kubelet-client", organizations: ["system:masters"] }),
  );
  // An authority of its own: its clients may act as any user.
  const frontProxyCa = authority("keelson-reference-front-proxy-ca");
  write("front-proxy-ca.crt", frontProxyCa.certificate);
  writePair("front-proxy-client", issue(frontProxyCa, { commonName: "front-proxy-client" }));
  write("service-account.pub", serviceAccounts.publicKey.export({ type: "spki", format: "pem" }).toString());
  write(
    "service-account.key",
    serviceAccounts.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  );
  write("tokens.csv", `${token},admin,admin,system:masters\n`);
  write("admin.kubeconfig", kubeconfig(server, ca.certificate, { token }));
  for (const component of ["controller-manager", "scheduler"]) {
    const pair = issue(ca, { commonName: `system:kube-${component}` });
    const user = { "client-certificate-data": base64(pair.certificate), "client-key-data": base64(pair.key) };
    write(`${component}.kubeconfig`, kubeconfig(server, ca.certificate, user));
  }
  return ca.certificate;
}

/** A year, which begins an hour ago, for clocks that differ. */
function validity() {
  return { notBeforeMs: Date.now() - 3600_000, notAfterMs: Date.now() + 365 * 24 * 3600_000 };
}

function authority(commonName: string): KeyPair {
  const { notBeforeMs, notAfterMs } = validity();
  return createAuthority(commonName, notBeforeMs, notAfterMs);
}

/** A certificate for a client, and for a server where it has names. */
function issue(ca: KeyPair, subject: Subject, names: readonly string[] = []): KeyPair {
  return createLeaf(ca, {
    subject,
    names,
    usages: names.length > 0 ? ["client", "server"] : ["client"],
    ...validity(),
  });
}

/** JSON is YAML, so this needs no library. */
function kubeconfig(server: string, authority: string, user: Record<string, string>): string {
  const name = "keelson-reference";
  return JSON.stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name, cluster: { server, "certificate-authority-data": base64(authority) } }],
      users: [{ name, user }],
      contexts: [{ name, context: { cluster: name, user: name } }],
      "current-context": name,
    },
    undefined,
    2,
  );
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
