/** The Node authorizer: a kubelet reads what the pods on its node need, and little more. */
import { requiredFieldValue } from "@keelson/core/internal";
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodSpec,
  PolicyRule,
  ResourceSlice,
  VolumeAttachment,
} from "@keelson/core/kinds";
import type { UserInfo } from "../contracts/authentication.ts";
import type { Attributes, Authorizer, Decision, SubjectRules } from "../contracts/authorization.ts";
import { nodeOf } from "../contracts/node-identity.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { StoreReader } from "../contracts/store.ts";
import { allows } from "./rules.ts";

const allow: Decision = { decision: "allow", reason: "" };
const noOpinion = (reason = ""): Decision => ({ decision: "no-opinion", reason });

/** The pods of each node, followed from the first question on. */
class PodsByNode {
  readonly #store: StoreReader;
  #pods: Map<string, Map<string, Pod>> | undefined;

  constructor(store: StoreReader) {
    this.#store = store;
    store.subscribe({ group: "", resource: "pods" }, ({ object, previous }) => {
      if (previous) this.#of(previous)?.delete(keyOf(previous));
      if (object) this.#add(object);
    });
  }

  of(node: string): Iterable<Pod> {
    if (!this.#pods) {
      this.#pods = new Map();
      for (const pod of this.#store.list({ group: "", resource: "pods" })) this.#add(pod);
    }
    return this.#pods.get(node)?.values() ?? [];
  }

  #of(object: ApiObject): Map<string, Pod> | undefined {
    return this.#pods?.get((object as unknown as Pod).spec?.nodeName ?? "");
  }

  #add(object: ApiObject): void {
    const node = (object as unknown as Pod).spec?.nodeName;
    if (!this.#pods || !node) return;
    let pods = this.#pods.get(node);
    if (!pods) {
      pods = new Map();
      this.#pods.set(node, pods);
    }
    pods.set(keyOf(object), object as unknown as Pod);
  }
}

const keyOf = ({ metadata }: ApiObject): string => `${metadata.namespace}/${metadata.name}`;

type Referenced = "secrets" | "configmaps" | "persistentvolumeclaims" | "serviceaccounts";

/** Whether a pod names the object: as a volume, in its environment, or as its account. */
function refersTo(spec: PodSpec, podName: string, resource: Referenced, name: string): boolean {
  const containers = [
    ...(spec.containers ?? []),
    ...(spec.initContainers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  const volumes = spec.volumes ?? [];
  switch (resource) {
    case "serviceaccounts":
      return spec.serviceAccountName === name;
    case "persistentvolumeclaims":
      return volumes.some(
        (volume) =>
          volume.persistentVolumeClaim?.claimName === name ||
          (volume.ephemeral && `${podName}-${volume.name}` === name),
      );
    case "configmaps":
      return (
        volumes.some(
          ({ configMap, projected }) =>
            configMap?.name === name || projected?.sources?.some((source) => source.configMap?.name === name),
        ) ||
        containers.some(
          ({ env, envFrom }) =>
            envFrom?.some(({ configMapRef }) => configMapRef?.name === name) ||
            env?.some(({ valueFrom }) => valueFrom?.configMapKeyRef?.name === name),
        )
      );
    case "secrets":
      return (
        !!spec.imagePullSecrets?.some((secret) => secret.name === name) ||
        volumes.some((volume) => {
          const {
            secret,
            projected,
            csi,
            iscsi,
            rbd,
            cephfs,
            cinder,
            flexVolume,
            scaleIO,
            storageos,
            azureFile,
          } = volume;
          return (
            secret?.secretName === name ||
            azureFile?.secretName === name ||
            projected?.sources?.some((source) => source.secret?.name === name) ||
            csi?.nodePublishSecretRef?.name === name ||
            [iscsi, rbd, cephfs, cinder, flexVolume, scaleIO, storageos].some(
              (source) => source?.secretRef?.name === name,
            )
          );
        }) ||
        containers.some(
          ({ env, envFrom }) =>
            envFrom?.some(({ secretRef }) => secretRef?.name === name) ||
            env?.some(({ valueFrom }) => valueFrom?.secretKeyRef?.name === name),
        )
      );
  }
}

const mirrorAnnotation = "kubernetes.io/config.mirror";

/** By name, or by the name that was generated for it. */
function usesClaim(spec: PodSpec, status: Pod["status"], name: string): boolean {
  return (
    (spec.resourceClaims ?? []).some(({ resourceClaimName }) => resourceClaimName === name) ||
    (status?.resourceClaimStatuses ?? []).some(({ resourceClaimName }) => resourceClaimName === name)
  );
}

export class NodeAuthorizer implements Authorizer {
  readonly #store: StoreReader;
  readonly #pods: PodsByNode;

  constructor(store: StoreReader) {
    this.#store = store;
    this.#pods = new PodsByNode(store);
  }

  authorize(attributes: Attributes): Decision {
    const node = nodeOf(attributes.user);
    if (node === undefined) return noOpinion();
    if (node === "") return noOpinion(`unknown node for user ${JSON.stringify(attributes.user.name)}`);
    const special = attributes.resourceRequest ? this.#special(node, attributes) : undefined;
    if (special) return special;
    return this.#rules().some((rule) => allows(rule, attributes)) ? allow : noOpinion();
  }

  /** Nodes have more than can be listed. */
  rulesFor(user: UserInfo): SubjectRules {
    return { resourceRules: [], nonResourceRules: [], incomplete: nodeOf(user) !== undefined };
  }

  /** What every node may do, as the default role says. */
  #rules(): readonly PolicyRule[] {
    const role = this.#store.get(
      { group: "rbac.authorization.k8s.io", resource: "clusterroles" },
      "",
      "system:node",
    );
    return (role?.rules as unknown as readonly PolicyRule[] | undefined) ?? [];
  }

  #special(node: string, attributes: Attributes): Decision | undefined {
    const { group, resource, subresource, verb } = attributes;
    switch (`${group}/${resource}`) {
      case "/secrets":
      case "/configmaps":
        return this.#read(node, resource as Referenced, attributes);
      case "/persistentvolumeclaims":
        if (subresource !== "status") return this.#get(node, attributes);
        if (verb !== "update" && verb !== "patch") return noOpinion("can only get/update/patch this type");
        return this.#related(node, attributes);
      case "/persistentvolumes":
      case "storage.k8s.io/volumeattachments":
        return this.#get(node, attributes);
      case "/serviceaccounts":
        return this.#account(node, attributes);
      case "coordination.k8s.io/leases":
        return ownObject(node, attributes, "a node lease", "node lease", "kube-node-lease");
      case "storage.k8s.io/csinodes":
        if (subresource) return noOpinion("cannot authorize CSINode subresources");
        return ownObject(node, attributes, "a CSINode", "CSINode");
      case "/nodes":
        return ownNode(node, attributes);
      case "/pods":
        return this.#pod(node, attributes);
      case "resource.k8s.io/resourceclaims":
        return this.#get(node, attributes);
      case "resource.k8s.io/resourceslices":
        return this.#slice(node, attributes);
      default:
        return undefined;
    }
  }

  #read(node: string, resource: Referenced, attributes: Attributes): Decision {
    const { verb, subresource, namespace } = attributes;
    if (!["get", "list", "watch"].includes(verb)) return noOpinion("can only read resources of this type");
    if (subresource) return noOpinion("cannot read subresource");
    if (!namespace) return noOpinion("can only read namespaced object of this type");
    return this.#related(node, { ...attributes, resource });
  }

  #get(node: string, attributes: Attributes): Decision {
    if (attributes.verb !== "get") return noOpinion("can only get individual resources of this type");
    if (attributes.subresource) return noOpinion("cannot get subresource");
    return this.#related(node, attributes);
  }

  #account(node: string, attributes: Attributes): Decision {
    const { verb, subresource, name } = attributes;
    if (verb === "get" && !subresource) return this.#read(node, "serviceaccounts", attributes);
    if (verb !== "create" || !name)
      return noOpinion("can only create tokens for individual service accounts");
    if (subresource !== "token") return noOpinion("can only create token subresource of serviceaccount");
    return this.#related(node, attributes);
  }

  #pod(node: string, attributes: Attributes): Decision {
    const { verb, subresource, name, fieldSelector } = attributes;
    if (subresource === "status" && (verb === "update" || verb === "patch")) return allow;
    if (subresource === "eviction" && verb === "create") return allow;
    if (subresource) return noOpinion();
    if (verb === "create" || verb === "delete") return allow;
    if (verb === "get") return this.#get(node, attributes);
    if (verb !== "list" && verb !== "watch") return noOpinion();
    if (fieldSelector && requiredFieldValue(fieldSelector, "spec.nodeName") === node) return allow;
    if (name) return this.#related(node, attributes);
    return noOpinion("can only list/watch pods with spec.nodeName field selector");
  }

  #slice(node: string, attributes: Attributes): Decision {
    const { verb, subresource, fieldSelector } = attributes;
    if (subresource) return noOpinion("cannot authorize ResourceSlice subresources");
    switch (verb) {
      case "create":
        return allow;
      case "get":
      case "update":
      case "patch":
      case "delete":
        return this.#related(node, attributes);
      case "list":
      case "watch":
      case "deletecollection":
        if (fieldSelector && requiredFieldValue(fieldSelector, "spec.nodeName") === node) return allow;
        return noOpinion("can only list/watch/deletecollection resourceslices with nodeName field selector");
      default:
        return noOpinion(
          "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection",
        );
    }
  }

  #related(node: string, { resource, namespace, name }: Attributes): Decision {
    if (!name) return noOpinion("No Object name found");
    return this.#isRelated(node, resource, namespace, name)
      ? allow
      : noOpinion(`no relationship found between node '${node}' and this object`);
  }

  #isRelated(node: string, resource: string, namespace: string, name: string): boolean {
    const store = this.#store;
    if (resource === "volumeattachments") {
      const found = store.get({ group: "storage.k8s.io", resource }, "", name);
      return (found as unknown as VolumeAttachment | undefined)?.spec?.nodeName === node;
    }
    if (resource === "resourceslices") {
      const found = store.get({ group: "resource.k8s.io", resource }, "", name);
      return (found as unknown as ResourceSlice | undefined)?.spec?.nodeName === node;
    }
    if (resource === "persistentvolumes") return this.#usesVolume(node, name);
    for (const { metadata, spec, status } of this.#pods.of(node)) {
      if (metadata?.namespace !== namespace) continue;
      if (resource === "pods") {
        if (metadata.name === name) return true;
        // What a node made itself must not bring it the secrets of others.
      } else if (metadata.annotations?.[mirrorAnnotation] !== undefined) continue;
      else if (resource === "resourceclaims") {
        if (usesClaim(spec as PodSpec, status, name)) return true;
      } else if (refersTo(spec as PodSpec, metadata.name ?? "", resource as Referenced, name)) return true;
    }
    return resource === "secrets" && this.#volumeNeeds(node, namespace, name);
  }

  #usesVolume(node: string, name: string): boolean {
    const volume = this.#store.get({ group: "", resource: "persistentvolumes" }, "", name);
    const claim = (volume as unknown as PersistentVolume | undefined)?.spec?.claimRef;
    return (
      !!claim && this.#isRelated(node, "persistentvolumeclaims", claim.namespace ?? "", claim.name ?? "")
    );
  }

  /** Secrets that the volumes of the node's pods are mounted with. */
  #volumeNeeds(node: string, namespace: string, name: string): boolean {
    for (const { metadata, spec } of this.#pods.of(node))
      for (const { persistentVolumeClaim } of spec?.volumes ?? []) {
        if (!persistentVolumeClaim) continue;
        const claim = this.#store.get(
          { group: "", resource: "persistentvolumeclaims" },
          metadata?.namespace ?? "",
          persistentVolumeClaim.claimName,
        ) as unknown as PersistentVolumeClaim | undefined;
        const volume = this.#store.get(
          { group: "", resource: "persistentvolumes" },
          "",
          claim?.spec?.volumeName ?? "",
        ) as unknown as PersistentVolume | undefined;
        const { nodePublishSecretRef, nodeStageSecretRef, nodeExpandSecretRef } = volume?.spec?.csi ?? {};
        for (const ref of [nodePublishSecretRef, nodeStageSecretRef, nodeExpandSecretRef])
          if (ref?.name === name && ref.namespace === namespace) return true;
      }
    return false;
  }
}

const ownVerbs = ["get", "create", "update", "patch", "delete"];

/** What a node has one of, named after it. */
function ownObject(
  node: string,
  { verb, namespace, name }: Attributes,
  one: string,
  what: string,
  within?: string,
): Decision {
  if (!ownVerbs.includes(verb)) return noOpinion(`can only get, create, update, patch, or delete ${one}`);
  if (within !== undefined && namespace !== within)
    return noOpinion(`can only access leases in the "${within}" system namespace`);
  if (verb !== "create" && name !== node)
    return noOpinion(`can only access ${what} with the same name as the requesting node`);
  return allow;
}

function ownNode(node: string, { verb, subresource, name }: Attributes): Decision {
  const writes = verb === "update" || verb === "patch";
  if (subresource === "status") return writes ? allow : noOpinion();
  if (subresource) return noOpinion();
  if (writes || verb === "create") return allow;
  if (verb !== "get" && verb !== "list" && verb !== "watch") return noOpinion();
  if (name === node) return allow;
  return noOpinion(
    name
      ? `node '${node}' cannot read '${name}', only its own Node object`
      : `node '${node}' cannot read all nodes, only its own Node object`,
  );
}
