/** Two services: one that names every member, ready or not, and one for clients. */
import type { Desired, ObjectMeta } from "keelson";
import type { Service } from "keelson/kinds";
import { annotations } from "../api/names.ts";
import { type ClusterName, clientPort, peerPort, selectorLabels, voterLabels } from "./names.ts";

/** Peers must find each other before anyone is ready. It keeps the ID of the cluster that was formed. */
export function peerService(cluster: ClusterName, clusterId?: string): Desired<typeof Service> {
  const formed = { [annotations.clusterUid]: cluster.uid, [annotations.clusterId]: clusterId ?? "" };
  return {
    metadata: {
      name: cluster.name,
      labels: selectorLabels(cluster),
      ...(clusterId === undefined ? {} : { annotations: formed }),
    },
    spec: {
      clusterIP: "None",
      publishNotReadyAddresses: true,
      selector: selectorLabels(cluster),
      ports: [
        { name: "client", port: clientPort, targetPort: clientPort },
        { name: "peer", port: peerPort, targetPort: peerPort },
      ],
    },
  };
}

/** The ID that the service keeps, where it is of this very cluster and not of one that had its name before. */
export function formedClusterId(
  { uid }: ClusterName,
  service: { readonly metadata: ObjectMeta } | undefined,
): string | undefined {
  const kept = service?.metadata.annotations ?? {};
  return kept[annotations.clusterUid] === uid ? kept[annotations.clusterId] : undefined;
}

export function clientServiceName({ metadata }: { readonly metadata: { readonly name: string } }): string {
  return `${metadata.name}-client`;
}

export function clientService(cluster: ClusterName): Desired<typeof Service> {
  return {
    metadata: { labels: selectorLabels(cluster) },
    spec: {
      selector: voterLabels(cluster),
      ports: [{ name: "client", port: clientPort, targetPort: clientPort }],
    },
  };
}
