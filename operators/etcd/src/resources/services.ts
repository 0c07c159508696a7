/** Two services: one that names every member, ready or not, and one for clients. */
import type { Desired } from "keelson";
import type { Service } from "keelson/kinds";
import { type ClusterName, clientPort, peerPort, selectorLabels, voterLabels } from "./names.ts";

/** Peers must find each other before anyone is ready. */
export function peerService(cluster: ClusterName): Desired<typeof Service> {
  return {
    metadata: { name: cluster.name, labels: selectorLabels(cluster) },
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

export function clientService(cluster: ClusterName): Desired<typeof Service> {
  return {
    metadata: { name: `${cluster.name}-client`, labels: selectorLabels(cluster) },
    spec: {
      selector: voterLabels(cluster),
      ports: [{ name: "client", port: clientPort, targetPort: clientPort }],
    },
  };
}
