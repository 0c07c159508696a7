/** What the kubelet needs of the API: a narrow door, so that everything behind it can be tested without a server. */
import type { ReflectEvent } from "@keelson/client";
import type { JsonObject, Stored } from "@keelson/core";
import type {
  ConfigMap,
  CoreEvent,
  EndpointSlice,
  Lease,
  Namespace,
  NetworkPolicy,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
  Service,
} from "./kinds.ts";

export type StoredPod = Stored<Pod> & { readonly spec: NonNullable<Pod["spec"]> };

export interface TokenRequest {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly audience?: string;
  readonly expirationSeconds: number;
  readonly pod: { readonly name: string; readonly uid: string };
}

export interface IssuedToken {
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface ReviewedUser {
  readonly authenticated: boolean;
  readonly username: string;
  readonly groups: readonly string[];
}

export interface NodeApi {
  /** Pods bound to this node, for ever. */
  followPods(nodeName: string, signal: AbortSignal): AsyncIterable<ReflectEvent<StoredPod>>;
  /** The node's own object. */
  followNode(name: string, signal: AbortSignal): AsyncIterable<ReflectEvent<Stored<Node>>>;
  followConfigMap(
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): AsyncIterable<ReflectEvent<Stored<ConfigMap>>>;
  followSecret(
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): AsyncIterable<ReflectEvent<Stored<Secret>>>;
  followServices(signal: AbortSignal): AsyncIterable<ReflectEvent<Stored<Service>>>;
  followEndpointSlices(signal: AbortSignal): AsyncIterable<ReflectEvent<Stored<EndpointSlice>>>;
  followNetworkPolicies(signal: AbortSignal): AsyncIterable<ReflectEvent<Stored<NetworkPolicy>>>;
  followNamespaces(signal: AbortSignal): AsyncIterable<ReflectEvent<Stored<Namespace>>>;
  claim(namespace: string, name: string): Promise<Stored<PersistentVolumeClaim> | undefined>;
  volume(name: string): Promise<Stored<PersistentVolume> | undefined>;
  createToken(request: TokenRequest): Promise<IssuedToken>;
  /** Undefined when the pod is gone or another one has its name. */
  patchPodStatus(pod: StoredPod, status: JsonObject): Promise<StoredPod | undefined>;
  /** Removes the object at once, if it still is this pod. */
  deletePod(pod: StoredPod): Promise<void>;
  findNode(name: string): Promise<Stored<Node> | undefined>;
  createNode(node: Node): Promise<Stored<Node>>;
  patchNode(name: string, patch: JsonObject): Promise<Stored<Node>>;
  patchNodeStatus(name: string, patch: JsonObject): Promise<Stored<Node>>;
  findLease(name: string): Promise<Stored<Lease> | undefined>;
  createLease(lease: Lease): Promise<Stored<Lease>>;
  updateLease(lease: Lease): Promise<Stored<Lease>>;
  createEvent(event: CoreEvent): Promise<Stored<CoreEvent>>;
  patchEvent(event: Stored<CoreEvent>, patch: JsonObject): Promise<Stored<CoreEvent> | undefined>;
  /** Who a bearer token belongs to. */
  reviewToken(token: string): Promise<ReviewedUser>;
  /** Whether a user may do something to this node's API. */
  reviewAccess(user: ReviewedUser, verb: string, subresource: string, nodeName: string): Promise<boolean>;
}
