/**
 * How nodes join: with a bootstrap token they ask for a client certificate of their own, which is approved and signed, and
 * with which they are `system:node:NAME` from then on. As kubeadm sets it up, under names of ours.
 */
import type { ApiObject } from "../contracts/object.ts";
import type { PluginFactory } from "../contracts/plugin.ts";

const joiners = "system:bootstrappers:keelson:nodes";
const rbac = "rbac.authorization.k8s.io";
const requests = "system:certificates.k8s.io:certificatesigningrequests";

/** Everything that a node with the token needs to be there. */
export function nodeJoining(bootstrapToken: string): PluginFactory {
  const objects = [
    tokenSecret(bootstrapToken),
    // Ask for a certificate; have the first one approved, and those that replace it.
    binding("node-bootstrapper", "system:node-bootstrapper", joiners),
    binding("node-autoapprove-bootstrap", `${requests}:nodeclient`, joiners),
    binding("node-autoapprove-rotation", `${requests}:selfnodeclient`, "system:nodes"),
    // Our node leads services to pods, too.
    binding("node-proxier", "system:node-proxier", "system:nodes"),
    // And it keeps pods apart as policies say.
    policyReader,
    binding("node-policy-reader", "keelson:node-policy-reader", "system:nodes"),
  ];
  return () => ({ bootstrap: () => objects });
}

const reading = ["get", "list", "watch"];
const policyReader: ApiObject = {
  apiVersion: `${rbac}/v1`,
  kind: "ClusterRole",
  metadata: { name: "keelson:node-policy-reader" },
  rules: [
    { apiGroups: ["networking.k8s.io"], resources: ["networkpolicies"], verbs: reading },
    { apiGroups: [""], resources: ["namespaces"], verbs: reading },
  ],
};

function tokenSecret(token: string): ApiObject {
  const [id = "", secret = ""] = token.split(".");
  const data = {
    "token-id": id,
    "token-secret": secret,
    "usage-bootstrap-authentication": "true",
    "auth-extra-groups": joiners,
    description: "Lets nodes of this cluster ask for a client certificate.",
  };
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `bootstrap-token-${id}`, namespace: "kube-system" },
    type: "bootstrap.kubernetes.io/token",
    data: Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
    ),
  };
}

function binding(name: string, role: string, group: string): ApiObject {
  return {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: `keelson:${name}` },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: rbac, kind: "Group", name: group }],
  };
}
