// Everybody's credentials in one control plane: certificates, service account keys, the admin's token, kubeconfigs.
import { writeFileSync } from "node:fs";
import { createCertificateAuthority, createSigningKey, type KeyPair } from "./certificates.ts";
import { kubernetesServiceAddress, type Layout } from "./program-flags.ts";

/** Writes certificates, keys, tokens and kubeconfigs, and gives the authority's certificate. */
export function writeIdentities(layout: Layout, server: string, token: string): string {
  if (!/^[\x21\x23-\x2b\x2d-\x7e]+$/.test(token))
    throw new TypeError(`a token is printable and has no space, comma or quote: ${JSON.stringify(token)}`);
  const ca = createCertificateAuthority("keelson-reference-ca");
  const hosts = [
    "127.0.0.1",
    "localhost",
    kubernetesServiceAddress,
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
  ];
  const serviceAccounts = createSigningKey();
  const write = (name: string, text: string) => writeFileSync(layout.file(name), text, { mode: 0o600 });
  const writePair = (name: string, pair: KeyPair) => {
    write(`${name}.crt`, pair.certificate);
    write(`${name}.key`, pair.key);
  };
  writePair("ca", ca);
  writePair("server", ca.issue({ commonName: "kube-apiserver", hosts }));
  writePair(
    "kubelet-client",
    ca.issue({ commonName: "kube-apiserver-kubelet-client", organizations: ["system:masters"] }),
  );
  // An authority of its own: whoever it certifies may speak for anybody.
  const frontProxyCa = createCertificateAuthority("keelson-reference-front-proxy-ca");
  write("front-proxy-ca.crt", frontProxyCa.certificate);
  writePair("front-proxy-client", frontProxyCa.issue({ commonName: "front-proxy-client" }));
  write("service-account.pub", serviceAccounts.publicKey);
  write("service-account.key", serviceAccounts.key);
  write("tokens.csv", `${token},admin,admin,system:masters\n`);
  write("admin.kubeconfig", kubeconfig(server, ca.certificate, { token }));
  for (const component of ["controller-manager", "scheduler"]) {
    const pair = ca.issue({ commonName: `system:kube-${component}` });
    const user = { "client-certificate-data": base64(pair.certificate), "client-key-data": base64(pair.key) };
    write(`${component}.kubeconfig`, kubeconfig(server, ca.certificate, user));
  }
  return ca.certificate;
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
