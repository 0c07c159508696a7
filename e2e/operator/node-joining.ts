/** How our nodes join the real control plane: with a bootstrap token, as kubeadm sets it up. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@keelson/client";
import { parseJson } from "@keelson/core";
import { ClusterRole, ClusterRoleBinding, Secret } from "keelson/kinds";

const token = { id: "abcdef", secret: "0123456789abcdef" } as const;
const joiners = "system:bootstrappers:joining";
const nodes = "system:nodes";
const requests = "system:certificates.k8s.io:certificatesigningrequests";
const policyReader = "node-policy-reader";

/** Resolves to the path of a kubeconfig with the token. */
export async function letNodesJoin(client: Client, kubeconfig: string, directory: string): Promise<string> {
  await client.kind(Secret).create({
    metadata: { name: `bootstrap-token-${token.id}`, namespace: "kube-system" },
    type: "bootstrap.kubernetes.io/token",
    stringData: {
      "token-id": token.id,
      "token-secret": token.secret,
      "usage-bootstrap-authentication": "true",
      "auth-extra-groups": joiners,
    },
  });
  const verbs = ["get", "list", "watch"];
  await client.kind(ClusterRole).create({
    metadata: { name: policyReader },
    rules: [
      { apiGroups: ["networking.k8s.io"], resources: ["networkpolicies"], verbs },
      { apiGroups: [""], resources: ["namespaces"], verbs },
    ],
  });
  for (const [name, role, group] of [
    ["joining", "system:node-bootstrapper", joiners],
    ["approve-first", `${requests}:nodeclient`, joiners],
    ["approve-renewal", `${requests}:selfnodeclient`, nodes],
    // Our nodes do the work of kube-proxy, and of a network plugin that knows policies.
    ["proxier", "system:node-proxier", nodes],
    ["policies", policyReader, nodes],
  ] as const) {
    const apiGroup = "rbac.authorization.k8s.io";
    await client.kind(ClusterRoleBinding).create({
      metadata: { name },
      roleRef: { apiGroup, kind: "ClusterRole", name: role },
      subjects: [{ apiGroup, kind: "Group", name: group }],
    });
  }
  return await withToken(kubeconfig, join(directory, "bootstrap.kubeconfig"));
}

interface Kubeconfig {
  readonly users: readonly { readonly name: string }[];
}

/** The administrator's kubeconfig, which is JSON, with the token in place of theirs. */
async function withToken(kubeconfig: string, path: string): Promise<string> {
  const config = parseJson(await readFile(kubeconfig, "utf8")) as unknown as Kubeconfig;
  const users = config.users.map(({ name }) => ({ name, user: { token: `${token.id}.${token.secret}` } }));
  await writeFile(path, JSON.stringify({ ...config, users }), { mode: 0o600 });
  return path;
}
