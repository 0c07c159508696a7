/** What a node may do: the Node authorizer and the NodeRestriction plug-in together. */
import { mergePatch } from "../validation/players.ts";
import type { Story } from "../validation/story.ts";

type Json = Record<string, unknown>;

const as = (name: string) => ({
  headers: { "impersonate-user": `system:node:${name}`, "impersonate-group": "system:nodes" },
});
const patching = { ...as("n"), type: mergePatch };
const core = "/api/v1/namespaces/default";
const pods = `${core}/pods`;

const signingRequests: Readonly<Record<"n" | "m", string>> = {
  n: "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIcU1JR1JBZ0VBTUM4eEZUQVRCZ05WQkFvTURITjVjM1JsYlRwdWIyUmxjekVXTUJRR0ExVUVBd3dOYzNsegpkR1Z0T201dlpHVTZiakJaTUJNR0J5cUdTTTQ5QWdFR0NDcUdTTTQ5QXdFSEEwSUFCQkxIRmRPa0xzbm5aaTlOCklnd0lWbGdJMDZOQm10NWxGalJLTVZXdHJkelo3MHkyY0s4ZTRvaEpST05uNFZnWlRvbmxBNjlmMmNxOWpsL0MKQlBlT3J6NmdBREFLQmdncWhrak9QUVFEQWdOSUFEQkZBaUFwMUZHTi9mQ0FHUVNzTU8zSUU4anFKM0ROT3dFcAo0ZU9hZVVCYmlSbUt4d0loQVBRRU5kS0Jwdmk4UDZxNi9UclpqSlRWRVFQSFJMNkpmMFhGMXdXK2VYcmEKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==",
  m: "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIck1JR1JBZ0VBTUM4eEZUQVRCZ05WQkFvTURITjVjM1JsYlRwdWIyUmxjekVXTUJRR0ExVUVBd3dOYzNsegpkR1Z0T201dlpHVTZiVEJaTUJNR0J5cUdTTTQ5QWdFR0NDcUdTTTQ5QXdFSEEwSUFCQkxIRmRPa0xzbm5aaTlOCklnd0lWbGdJMDZOQm10NWxGalJLTVZXdHJkelo3MHkyY0s4ZTRvaEpST05uNFZnWlRvbmxBNjlmMmNxOWpsL0MKQlBlT3J6NmdBREFLQmdncWhrak9QUVFEQWdOSkFEQkdBaUVBa0NSUHVaaTViRnpnVVZOWUthVEJWcThYRW9ObwpNT1krR3Vva05TQ0VkallDSVFDVU5jWldxcDFpUXFjZytjMW5qTjJWdnE4ZEExUmNaTDFuRm9VQS9kcitVdz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=",
};

const pod = (name: string, spec: Json = {}, metadata: Json = {}): Json => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec: {
    containers: [{ name: "c", image: "i" }],
    nodeName: "n",
    automountServiceAccountToken: false,
    ...spec,
  },
});

/** Sends as node n, and keeps the code and what a refusal says. */
async function ask(
  story: Story,
  label: string,
  method: string,
  path: string,
  body?: unknown,
  more = as("n"),
) {
  const { code, body: said } = await story.do(method, path, body, more);
  const { reason, message } = (said ?? {}) as Json;
  story.keep(label, code, code < 400 ? {} : { reason, message });
}

async function world(story: Story): Promise<Readonly<Record<string, string>>> {
  const uids: Record<string, string> = {};
  const make = async (path: string, body: Json) => {
    const { body: made } = await story.do("POST", path, body);
    const { name, uid } = (made as { metadata: { name: string; uid: string } }).metadata;
    uids[name] = uid;
  };
  await story.namespace("default");
  for (const name of ["n", "m"])
    await make("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: `${name}` } });
  for (const name of ["mine", "theirs", "mirrored"]) {
    await make(`${core}/secrets`, { apiVersion: "v1", kind: "Secret", metadata: { name } });
    await make(`${core}/configmaps`, { apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
  }
  const uses = (name: string) => ({
    containers: [{ name: "c", image: "i", envFrom: [{ secretRef: { name } }, { configMapRef: { name } }] }],
    volumes: [
      {
        name: "t",
        projected: { sources: [{ serviceAccountToken: { path: "t", audience: "vault" } }] },
      },
    ],
  });
  await make(pods, pod("p", uses("mine")));
  await make(pods, pod("q", { ...uses("theirs"), nodeName: "m" }));
  await make(`${core}/persistentvolumeclaims`, {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "claim" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  });
  await story.settle();
  return uids;
}

async function reads(story: Story): Promise<void> {
  for (const kind of ["secrets", "configmaps"]) {
    for (const name of ["mine", "theirs"])
      await ask(story, `get ${kind} ${name}`, "GET", `${core}/${kind}/${name}`);
    await ask(story, `list ${kind}`, "GET", `${core}/${kind}`);
    await ask(story, `delete ${kind}`, "DELETE", `${core}/${kind}/mine`);
  }
  for (const path of [
    "/api/v1/pods",
    "/api/v1/pods?fieldSelector=spec.nodeName%3Dn",
    "/api/v1/pods?fieldSelector=spec.nodeName%3Dm",
    `${pods}/p`,
    `${pods}/q`,
    "/api/v1/nodes/n",
    "/api/v1/nodes/m",
    "/api/v1/nodes",
    "/api/v1/nodes?fieldSelector=metadata.name%3Dn",
    "/api/v1/services",
    "/api/v1/namespaces",
    "/api/v1/persistentvolumes",
    "/apis/storage.k8s.io/v1/csinodes/n",
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n",
    "/apis/resource.k8s.io/v1/resourceslices",
    "/apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.nodeName%3Dn",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  ])
    await ask(story, `get ${path}`, "GET", path);
}

async function ownNode(story: Story): Promise<void> {
  const node = (name: string, metadata: Json = {}, spec: Json = {}): Json => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, ...metadata },
    spec,
  });
  await ask(story, "create another node", "POST", "/api/v1/nodes", node("o"));
  await ask(
    story,
    "change another node",
    "PATCH",
    "/api/v1/nodes/m",
    { metadata: { labels: { a: "b" } } },
    patching,
  );
  await ask(story, "change another's status", "PATCH", "/api/v1/nodes/m/status", { status: {} }, patching);
  await ask(story, "delete the own node", "DELETE", "/api/v1/nodes/n");
  const changes: readonly (readonly [string, Json])[] = [
    ["a plain label", { metadata: { labels: { a: "b" } } }],
    ["a label of the kubelet", { metadata: { labels: { "kubernetes.io/hostname": "n" } } }],
    ["a label for kubelets", { metadata: { labels: { "kubelet.kubernetes.io/x": "y" } } }],
    ["a label for nodes", { metadata: { labels: { "node.kubernetes.io/x": "y" } } }],
    ["a restricted label", { metadata: { labels: { "node-restriction.kubernetes.io/x": "y" } } }],
    ["a prefixed restricted label", { metadata: { labels: { "a.node-restriction.kubernetes.io/x": "y" } } }],
    ["a role", { metadata: { labels: { "node-role.kubernetes.io/control-plane": "" } } }],
    ["a label of k8s.io", { metadata: { labels: { "x.k8s.io/y": "z", "kubernetes.io/z": "a" } } }],
    ["taints", { spec: { taints: [{ key: "a", effect: "NoSchedule" }] } }],
    ["an annotation", { metadata: { annotations: { a: "b" } } }],
    ["an owner", { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u" }] } }],
  ];
  for (const [what, change] of changes) {
    await ask(story, `node: ${what}`, "PATCH", "/api/v1/nodes/n", change, patching);
    await ask(story, `node status: ${what}`, "PATCH", "/api/v1/nodes/n/status", change, patching);
  }
  const labels = { "node-role.kubernetes.io/control-plane": "", "foo.kubernetes.io/x": "" };
  await ask(
    story,
    "create the own node with a role",
    "POST",
    "/api/v1/nodes",
    node("x", { labels }),
    as("x"),
  );
  const taints = [{ key: "a", effect: "NoSchedule" }];
  await ask(
    story,
    "create the own node with taints",
    "POST",
    "/api/v1/nodes",
    node("x", {}, { taints }),
    as("x"),
  );
}

async function ownPods(story: Story, uids: Readonly<Record<string, string>>): Promise<void> {
  const owner = { apiVersion: "v1", kind: "Node", name: "n", uid: uids["n"], controller: true };
  const annotations = { "kubernetes.io/config.mirror": "x" };
  const mirror = (name: string, spec: Json = {}, metadata: Json = {}) =>
    pod(name, spec, { annotations, ownerReferences: [owner], ...metadata });
  await ask(story, "a pod that is no mirror", "POST", pods, pod("plain"));
  const secret = { name: "v", secret: { secretName: "mirrored" } };
  const mirrors: readonly (readonly [string, Json])[] = [
    ["on another node", mirror("a", { nodeName: "m" })],
    ["without an owner", mirror("a", {}, { ownerReferences: [] })],
    ["with an owner of another kind", mirror("a", {}, { ownerReferences: [{ ...owner, kind: "Pod" }] })],
    ["of another node", mirror("a", {}, { ownerReferences: [{ ...owner, name: "m" }] })],
    ["of another uid", mirror("a", {}, { ownerReferences: [{ ...owner, uid: "u" }] })],
    ["without a controller", mirror("a", {}, { ownerReferences: [{ ...owner, controller: false }] })],
    ["that blocks", mirror("a", {}, { ownerReferences: [{ ...owner, blockOwnerDeletion: true }] })],
    ["with an account", mirror("a", { serviceAccountName: "default" })],
    ["with a secret", mirror("a", { volumes: [secret] })],
    ["with a pull secret", mirror("a", { imagePullSecrets: [{ name: "mirrored" }] })],
    ["with a configmap", mirror("a", { volumes: [{ name: "v", configMap: { name: "mirrored" } }] })],
    [
      "with a claim",
      mirror("a", { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "claim" } }] }),
    ],
    ["that refers to nothing", mirror("a", { volumes: [{ name: "v", emptyDir: {} }] })],
  ];
  for (const [what, body] of mirrors) await ask(story, `a mirror ${what}`, "POST", pods, body);
  await story.settle();
  await ask(story, "what a mirror would have needed", "GET", `${core}/secrets/mirrored`);
  for (const name of ["p", "q"]) {
    const status = { status: { phase: "Running" } };
    await ask(story, `status of ${name}`, "PATCH", `${pods}/${name}/status`, status, patching);
    const labels = { metadata: { labels: { a: "b" } } };
    await ask(story, `labels of ${name} by its status`, "PATCH", `${pods}/${name}/status`, labels, patching);
    await ask(story, `labels of ${name}`, "PATCH", `${pods}/${name}`, labels, patching);
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name } };
    await ask(story, `eviction of ${name}`, "POST", `${pods}/${name}/eviction?dryRun=All`, eviction);
    await ask(story, `exec in ${name}`, "POST", `${pods}/${name}/exec?command=id`);
  }
}

async function tokens(story: Story, uids: Readonly<Record<string, string>>): Promise<void> {
  const path = `${core}/serviceaccounts/default/token`;
  const request = (spec: Json) => ({ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec });
  const boundTo = (name: string, uid = uids[name]) => ({
    boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
    audiences: ["vault"],
  });
  const specs: readonly (readonly [string, Json])[] = [
    ["bound to nothing", {}],
    [
      "bound to a secret",
      { boundObjectRef: { apiVersion: "v1", kind: "Secret", name: "mine", uid: uids["mine"] } },
    ],
    ["without a uid", { boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "p" } }],
    ["with another uid", boundTo("p", "u")],
    ["for a pod of another node", boundTo("q")],
    ["for a pod that is not there", boundTo("none", "u")],
    ["for an audience of the pod", boundTo("p")],
    ["for another audience", { ...boundTo("p"), audiences: ["bank"] }],
    ["for two audiences", { ...boundTo("p"), audiences: ["vault", "bank"] }],
  ];
  for (const [what, spec] of specs) await ask(story, `a token ${what}`, "POST", path, request(spec));
}

async function others(story: Story): Promise<void> {
  const lease = (name: string, namespace: string) => ({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace },
    spec: {},
  });
  const leases = (namespace: string) => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  await ask(story, "a lease elsewhere", "POST", leases("default"), lease("n", "default"));
  await ask(story, "another's lease", "POST", leases("kube-node-lease"), lease("m", "kube-node-lease"));
  await ask(story, "the own lease", "POST", leases("kube-node-lease"), lease("n", "kube-node-lease"));
  const csiNode = (name: string) => ({
    apiVersion: "storage.k8s.io/v1",
    kind: "CSINode",
    metadata: { name },
    spec: { drivers: [] },
  });
  await ask(story, "another's CSINode", "POST", "/apis/storage.k8s.io/v1/csinodes", csiNode("m"));
  await ask(story, "the own CSINode", "POST", "/apis/storage.k8s.io/v1/csinodes", csiNode("n"));
  const slice = (nodeName: string) => ({
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: { name: nodeName },
    spec: {
      nodeName,
      driver: "d.example.com",
      pool: { name: "p", generation: 1, resourceSliceCount: 1 },
      devices: [],
    },
  });
  await ask(story, "another's slice", "POST", "/apis/resource.k8s.io/v1/resourceslices", slice("m"));
  await ask(story, "the own slice", "POST", "/apis/resource.k8s.io/v1/resourceslices", slice("n"));
  const claim = `${core}/persistentvolumeclaims/claim`;
  await ask(story, "a claim", "PATCH", claim, { metadata: { labels: { a: "b" } } }, patching);
  await ask(story, "a claim's phase", "PATCH", `${claim}/status`, { status: { phase: "Bound" } }, patching);
  await ask(
    story,
    "a claim's capacity",
    "PATCH",
    `${claim}/status`,
    { status: { capacity: { storage: "1Gi" } } },
    patching,
  );
  const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  for (const name of ["n", "m"] as const)
    for (const signerName of [
      "kubernetes.io/kube-apiserver-client-kubelet",
      "kubernetes.io/kubelet-serving",
      "example.com/x",
    ])
      await ask(story, `a request for ${name} from ${signerName}`, "POST", requests, {
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { name: `${name}-${signerName.length}` },
        spec: { request: signingRequests[name], signerName, usages: ["digital signature", "client auth"] },
      });
  await ask(story, "a node without a name", "GET", "/api/v1/nodes/n", undefined, as(""));
}

export async function nodes(story: Story): Promise<void> {
  const uids = await world(story);
  await reads(story);
  await ownNode(story);
  await ownPods(story, uids);
  await tokens(story, uids);
  await others(story);
}
