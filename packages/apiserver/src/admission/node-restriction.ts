/** NodeRestriction: a node writes what is its own, and nothing that would bring it more. */
import { deepEqual, type JsonObject, type OwnerReference } from "@keelson/core";
import type { Lease, Node, PersistentVolumeClaim, Pod, ResourceSlice } from "@keelson/core/kinds";
import { PkiError, readCertificateRequest } from "@keelson/pki";
import type { AdmissionPlugin, AdmissionRequest } from "../contracts/admission.ts";
import type { Authorizer } from "../contracts/authorization.ts";
import { nodeOf } from "../contracts/node-identity.ts";
import { notFound } from "../contracts/status-error.ts";
import type { StoreReader } from "../contracts/store.ts";
import { apiReferenceOf } from "./api-references.ts";
import { refused } from "./refusals.ts";

const mirrorAnnotation = "kubernetes.io/config.mirror";
const pods = { group: "", resource: "pods" };

interface Parts {
  readonly store: StoreReader;
  readonly authorizer: Authorizer;
}

/** Throws 403 for what the node may not do. */
type Check = (node: string, request: AdmissionRequest, parts: Parts) => Promise<void> | void;

const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ["/pods", checkPod],
  ["/pods/status", checkPodStatus],
  ["/pods/eviction", checkEviction],
  ["/nodes", checkNode],
  ["/nodes/status", checkNode],
  ["/persistentvolumeclaims/status", checkClaimStatus],
  ["/serviceaccounts/token", checkToken],
  ["coordination.k8s.io/leases", checkLease],
  ["storage.k8s.io/csinodes", checkCsiNode],
  ["resource.k8s.io/resourceslices", checkResourceSlice],
  ["certificates.k8s.io/certificatesigningrequests", checkSigningRequest],
]);

export function nodeRestriction(parts: Parts): AdmissionPlugin {
  return {
    name: "NodeRestriction",
    admit(request) {
      const node = nodeOf(request.user);
      if (node === undefined) return;
      if (node === "")
        throw refused(request, `could not determine node from user ${JSON.stringify(request.user.name)}`);
      const { resource, subresource } = request;
      const own = `${resource.group}/${resource.resource}`;
      const check = checks.get(subresource ? `${own}/${subresource}` : own);
      if (check) return check(node, request, parts);
      if (own === "/pods")
        throw refused(
          request,
          `unexpected pod subresource ${JSON.stringify(subresource)}, only 'status' and 'eviction' are allowed`,
        );
      if (own === "/persistentvolumeclaims") throw refused(request, "may only update PVC status");
    },
  };
}

function storedPod({ store }: Parts, namespace: string, name: string): Pod {
  const pod = store.get(pods, namespace, name);
  if (!pod) throw notFound(pods, name);
  return pod as unknown as Pod;
}

function checkPod(node: string, request: AdmissionRequest, parts: Parts): void {
  const who = JSON.stringify(node);
  switch (request.operation) {
    case "CREATE":
      checkMirrorPod(node, request, parts);
      return;
    case "DELETE":
      if (storedPod(parts, request.namespace, request.name).spec?.nodeName !== node)
        throw refused(request, `node ${who} can only delete pods with spec.nodeName set to itself`);
      return;
    default:
      throw refused(
        request,
        `unexpected operation ${JSON.stringify(request.operation)}, node ${who} can only create and delete mirror pods`,
      );
  }
}

function checkMirrorPod(node: string, request: AdmissionRequest, { store }: Parts): void {
  const who = JSON.stringify(node);
  const { metadata, spec } = request.object as unknown as Pod;
  const refuse = (why: string) => refused(request, `node ${who} ${why}`);
  if (metadata?.annotations?.[mirrorAnnotation] === undefined)
    throw refused(
      request,
      `pod does not have ${JSON.stringify(mirrorAnnotation)} annotation, node ${who} can only create mirror pods`,
    );
  if (spec?.nodeName !== node) throw refuse("can only create pods with spec.nodeName set to itself");
  const owners: readonly OwnerReference[] = metadata.ownerReferences ?? [];
  if (owners.length > 1) throw refuse("can only create pods with a single owner reference set to itself");
  const [owner] = owners;
  if (owner?.apiVersion !== "v1" || owner.kind !== "Node" || owner.name !== node)
    throw refuse("can only create pods with an owner reference set to itself");
  if (!owner.controller) throw refuse("can only create pods with a controller owner reference set to itself");
  if (owner.blockOwnerDeletion) throw refuse("must not set blockOwnerDeletion on an owner reference");
  const stored = store.get({ group: "", resource: "nodes" }, "", node);
  if (!stored) throw notFound({ group: "", resource: "nodes" }, node);
  if (owner.uid !== stored.metadata.uid)
    throw refused(request, `node ${node} UID mismatch: expected ${owner.uid} got ${stored.metadata.uid}`);
  const reference = apiReferenceOf(spec);
  if (reference !== undefined) throw refuse(`can not create pods that reference ${reference}`);
}

function checkPodStatus(node: string, request: AdmissionRequest): void {
  const who = JSON.stringify(node);
  if (request.operation !== "UPDATE") throw unexpected(request);
  const old = request.oldObject as unknown as Pod;
  const pod = request.object as unknown as Pod;
  if (old.spec?.nodeName !== node)
    throw refused(
      request,
      `node ${who} can only update pod status for pods with spec.nodeName set to itself`,
    );
  if (!deepEqual(old.metadata?.labels ?? {}, pod.metadata?.labels ?? {}))
    throw refused(request, `node ${who} cannot update labels through pod status`);
  if (!deepEqual(old.status?.resourceClaimStatuses ?? [], pod.status?.resourceClaimStatuses ?? []))
    throw refused(request, `node ${who} cannot update resource claim statues`);
  if (!deepEqual(old.status?.extendedResourceClaimStatus, pod.status?.extendedResourceClaimStatus))
    throw refused(request, `node ${who} cannot update extended resource claim status`);
}

function checkEviction(node: string, request: AdmissionRequest, parts: Parts): void {
  if (request.operation !== "CREATE") throw unexpected(request);
  const name = request.name || request.object?.metadata.name;
  if (!name) throw refused(request, "could not determine pod from request data");
  if (storedPod(parts, request.namespace, name).spec?.nodeName !== node)
    throw refused(request, `node ${node} can only evict pods with spec.nodeName set to itself`);
}

function checkNode(node: string, request: AdmissionRequest): void {
  const who = JSON.stringify(node);
  const name = request.name || request.object?.metadata.name || "";
  if (name !== node)
    throw refused(request, `node ${who} is not allowed to modify node ${JSON.stringify(name)}`);
  const now = request.object as unknown as Node | undefined;
  const old = request.oldObject as unknown as Node | undefined;
  if (request.operation === "CREATE") {
    if (now?.spec?.configSource)
      throw refused(request, `node ${who} is not allowed to create pods with a non-nil configSource`);
    const labels = forbiddenLabels(now?.metadata?.labels, undefined);
    if (labels.length > 0)
      throw refused(request, `node ${who} is not allowed to set the following labels: ${labels.join(", ")}`);
  }
  if (request.operation !== "UPDATE") return;
  if (now?.spec?.configSource && !deepEqual(now.spec.configSource, old?.spec?.configSource))
    throw refused(request, `node ${who} is not allowed to update configSource to a new non-nil configSource`);
  if (!deepEqual(now?.spec?.taints ?? [], old?.spec?.taints ?? []))
    throw refused(request, `node ${who} is not allowed to modify taints`);
  if (!deepEqual(now?.metadata?.ownerReferences ?? [], old?.metadata?.ownerReferences ?? []))
    throw refused(request, `node ${who} is not allowed to modify ownerReferences`);
  const labels = forbiddenLabels(now?.metadata?.labels, old?.metadata?.labels);
  if (labels.length > 0) throw refused(request, `is not allowed to modify labels: ${labels.join(", ")}`);
}

type Labels = Readonly<Record<string, string>>;

/** Labels by which workloads are steered: a node must not draw them to itself. */
function forbiddenLabels(now: Labels = {}, old: Labels = {}): string[] {
  const of = (labels: Labels, key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  return [...new Set([...Object.keys(now), ...Object.keys(old)])]
    .filter((key) => of(now, key) !== of(old, key) && isForbidden(key))
    .sort();
}

const kubeletLabels = new Set([
  "kubernetes.io/hostname",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "beta.kubernetes.io/instance-type",
  "node.kubernetes.io/instance-type",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
]);

function isForbidden(key: string): boolean {
  const slash = key.indexOf("/");
  const namespace = slash < 0 ? "" : key.slice(0, slash);
  const isIn = (domain: string) => namespace === domain || namespace.endsWith(`.${domain}`);
  if (isIn("node-restriction.kubernetes.io")) return true;
  if (!isIn("kubernetes.io") && !isIn("k8s.io")) return false;
  return !kubeletLabels.has(key) && !isIn("kubelet.kubernetes.io") && !isIn("node.kubernetes.io");
}

function checkClaimStatus(node: string, request: AdmissionRequest): void {
  if (request.operation !== "UPDATE") throw unexpected(request);
  // What a node may write of a claim, and what is always different.
  const rest = (claim: PersistentVolumeClaim) => {
    const { resourceVersion: _v, managedFields: _m, ...metadata } = (claim.metadata ?? {}) as JsonObject;
    const {
      capacity: _c,
      conditions: _o,
      allocatedResources: _a,
      allocatedResourceStatuses: _s,
      ...status
    } = (claim.status ?? {}) as JsonObject;
    return { ...claim, metadata, status };
  };
  const now = request.object as unknown as PersistentVolumeClaim;
  const old = request.oldObject as unknown as PersistentVolumeClaim;
  if (!deepEqual(rest(now), rest(old)))
    throw refused(
      request,
      `node ${JSON.stringify(node)} is not allowed to update fields other than status.quantity and status.conditions`,
    );
}

interface TokenSpec {
  readonly audiences?: readonly string[];
  readonly boundObjectRef?: { apiVersion?: string; kind?: string; name?: string; uid?: string };
}

async function checkToken(node: string, request: AdmissionRequest, parts: Parts): Promise<void> {
  if (request.operation !== "CREATE") return;
  const { boundObjectRef: ref, audiences = [] } = (request.object?.spec ?? {}) as TokenSpec;
  if (ref?.apiVersion !== "v1" || ref.kind !== "Pod" || !ref.name)
    throw refused(request, "node requested token not bound to a pod");
  if (!ref.uid) throw refused(request, "node requested token with a pod binding without a uid");
  const pod = parts.store.get(pods, request.namespace, ref.name) as unknown as Pod | undefined;
  // In the server's own words, which name the kind here and not the resource.
  if (!pod) throw notFound({ group: "", resource: "pod" }, ref.name);
  if (ref.uid !== pod.metadata?.uid)
    throw refused(
      request,
      `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  if (pod.spec?.nodeName !== node)
    throw refused(request, "node requested token bound to a pod scheduled on a different node");
  if (audiences.length > 1) throw refused(request, "node may only request 0 or 1 audiences");
  await checkAudience(audiences[0] ?? "", pod, request, parts);
}

/** Nodes ask for the tokens that pods mount, and for others where a rule lets them. */
async function checkAudience(
  audience: string,
  pod: Pod,
  request: AdmissionRequest,
  { authorizer }: Parts,
): Promise<void> {
  const mounted = (pod.spec?.volumes ?? []).some(({ projected }) =>
    projected?.sources?.some(
      ({ serviceAccountToken }) =>
        serviceAccountToken !== undefined && (serviceAccountToken.audience ?? "") === audience,
    ),
  );
  if (mounted) return;
  const { decision } = await authorizer.authorize({
    user: request.user,
    verb: "request-serviceaccounts-token-audience",
    resourceRequest: true,
    group: "",
    version: "v1",
    resource: audience,
    subresource: "",
    namespace: request.namespace,
    name: request.name,
    path: "",
  });
  if (decision !== "allow")
    throw refused(
      request,
      `audience ${JSON.stringify(audience)} not found in pod spec volume, ${request.user.name} is not authorized to request tokens for this audience`,
    );
}

function checkLease(node: string, request: AdmissionRequest): void {
  if (request.namespace !== "kube-node-lease")
    throw refused(request, 'can only access leases in the "kube-node-lease" system namespace');
  const { metadata } = (request.object ?? {}) as unknown as Lease;
  if ((request.operation === "CREATE" ? metadata?.name : request.name) !== node)
    throw refused(request, "can only access node lease with the same name as the requesting node");
}

function checkCsiNode(node: string, request: AdmissionRequest): void {
  const name = request.operation === "CREATE" ? request.object?.metadata.name : request.name;
  if (name !== node)
    throw refused(request, "can only access CSINode with the same name as the requesting node");
}

function checkResourceSlice(
  node: string,
  { operation, object, oldObject, ...request }: AdmissionRequest,
): void {
  const { spec } = ((operation === "DELETE" ? oldObject : object) ?? {}) as unknown as ResourceSlice;
  if ((operation === "CREATE" || operation === "DELETE") && spec?.nodeName !== node)
    throw refused(
      { ...request, operation, object, oldObject },
      `can only ${operation.toLowerCase()} ResourceSlice with the same NodeName as the requesting node`,
    );
}

const nodeSigners = new Set(["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"]);

/** A node asks for certificates of its own alone. */
function checkSigningRequest(node: string, request: AdmissionRequest): void {
  if (request.operation !== "CREATE") return;
  const { signerName = "", request: encoded = "" } = (request.object?.spec ?? {}) as {
    signerName?: string;
    request?: string;
  };
  if (!nodeSigners.has(signerName)) return;
  let commonName: string | undefined;
  try {
    commonName = readCertificateRequest(Buffer.from(encoded, "base64").toString("latin1")).subject.commonName;
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    throw refused(request, `unable to parse csr: ${error.message}`);
  }
  if (commonName !== `system:node:${node}`)
    throw refused(request, `can only create a node CSR with CN=system:node:${node}`);
}

function unexpected(request: AdmissionRequest) {
  return refused(request, `unexpected operation ${JSON.stringify(request.operation)}`);
}
