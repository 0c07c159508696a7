/** The node's door to the API, over the ordinary client. */
import { type Client, isConflict, isNotFound, type ReflectEvent } from "@keelson/client";
import { type JsonObject, parseTime } from "@keelson/core";
import type { NodeApi, StoredPod } from "../api/api.ts";
import {
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
  ServiceAccount,
  SubjectAccessReview,
  TokenReview,
} from "../api/kinds.ts";

const leaseNamespace = "kube-node-lease";

export function clientApi(client: Client): NodeApi {
  const named = (name: string) => `metadata.name=${name}`;
  return {
    followPods: (nodeName, signal) =>
      client.kind(Pod).reflect({ fields: `spec.nodeName=${nodeName}`, signal }) as AsyncIterable<
        ReflectEvent<StoredPod>
      >,
    followNode: (name, signal) => client.kind(Node).reflect({ fields: named(name), signal }),
    followConfigMap: (namespace, name, signal) =>
      client.kind(ConfigMap).reflect({ namespace, fields: named(name), signal }),
    followSecret: (namespace, name, signal) =>
      client.kind(Secret).reflect({ namespace, fields: named(name), signal }),
    followServices: (signal) => client.kind(Service).reflect({ signal }),
    followEndpointSlices: (signal) => client.kind(EndpointSlice).reflect({ signal }),
    followNetworkPolicies: (signal) => client.kind(NetworkPolicy).reflect({ signal }),
    followNamespaces: (signal) => client.kind(Namespace).reflect({ signal }),
    claim: (namespace, name) => client.kind(PersistentVolumeClaim).find({ namespace, name }),
    volume: (name) => client.kind(PersistentVolume).find({ name }),
    async createToken({ namespace, serviceAccount, audience, expirationSeconds, pod }) {
      const body: JsonObject = {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: {
          audiences: audience === undefined ? [] : [audience],
          expirationSeconds,
          boundObjectRef: { kind: "Pod", apiVersion: "v1", name: pod.name, uid: pod.uid },
        },
      };
      const answer = await client
        .kind(ServiceAccount)
        .subresource("token")
        .create({ namespace, name: serviceAccount }, body);
      const { token, expirationTimestamp } = answer.status as { token: string; expirationTimestamp: string };
      return { token, expiresAt: parseTime(expirationTimestamp) };
    },
    async patchPodStatus(pod, status) {
      const { namespace, name, uid } = pod.metadata;
      const body: JsonObject = { metadata: { uid }, status };
      try {
        return (await client
          .kind(Pod)
          .subresource("status")
          .patch({ namespace, name }, { type: "strategic", body })) as StoredPod;
      } catch (error) {
        // A conflict on the UID: the name belongs to another pod by now.
        if (isNotFound(error) || isConflict(error)) return undefined;
        throw error;
      }
    },
    async deletePod(pod) {
      const { namespace, name, uid } = pod.metadata;
      try {
        await client.kind(Pod).delete({ namespace, name }, { uid, gracePeriodSeconds: 0 });
      } catch (error) {
        if (isConflict(error)) return;
        throw error;
      }
    },
    findNode: (name) => client.kind(Node).find({ name }),
    createNode: (node) => client.kind(Node).create(node),
    patchNode: (name, body) => client.kind(Node).patch({ name }, { type: "strategic", body }),
    patchNodeStatus: (name, body) =>
      client.kind(Node).subresource("status").patch({ name }, { type: "strategic", body }),
    findLease: (name) => client.kind(Lease).find({ namespace: leaseNamespace, name }),
    createLease: (lease) => client.kind(Lease).create(lease),
    updateLease: (lease) => client.kind(Lease).update(lease),
    createEvent: (event) => client.kind(CoreEvent).create(event),
    async patchEvent(event, body) {
      const { namespace, name } = event.metadata;
      try {
        return await client.kind(CoreEvent).patch({ namespace, name }, { type: "strategic", body });
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    async reviewToken(token) {
      const { status } = await client.kind(TokenReview).create({ spec: { token } });
      return {
        authenticated: status?.authenticated ?? false,
        username: status?.user?.username ?? "",
        groups: status?.user?.groups ?? [],
      };
    },
    async reviewAccess(user, verb, subresource, nodeName) {
      const { status } = await client.kind(SubjectAccessReview).create({
        spec: {
          user: user.username,
          groups: [...user.groups],
          resourceAttributes: { verb, version: "v1", resource: "nodes", subresource, name: nodeName },
        },
      });
      return status?.allowed ?? false;
    },
  };
}
