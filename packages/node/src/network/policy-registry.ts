/** The NetworkPolicies of the cluster, and the pods and namespaces that they speak of. */
import type { Stored } from "@keelson/core";
import type { Namespace, NetworkPolicy } from "@keelson/core/kinds";
import type { NodeApi, StoredPod } from "../api/api.ts";
import { follow } from "./follow.ts";
import { policyRules } from "./policy-rules.ts";

export class PolicyRegistry {
  readonly #policies = new Map<string, Stored<NetworkPolicy>>();
  readonly #pods = new Map<string, StoredPod>();
  readonly #namespaces = new Map<string, Stored<Namespace>>();
  readonly #listeners = new Set<() => void>();
  #peers: Promise<unknown> | undefined;

  /** Follows the API until `signal` aborts. Pods are followed from the first policy on: most clusters have none. */
  async run(api: NodeApi, signal: AbortSignal): Promise<void> {
    await follow(api.followNetworkPolicies(signal), this.#policies, () => {
      if (this.#policies.size > 0) this.#peers ??= this.#followPeers(api, signal);
      this.#changed();
    });
    await this.#peers;
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** None while there is no policy. The name server counts as the pod that it is in other clusters. */
  rules(nameServer: string): string[] {
    if (this.#policies.size === 0) return [];
    return policyRules({
      policies: [...this.#policies.values()],
      pods: [...this.#pods.values(), nameServerPod(nameServer)],
      namespaces: [...this.#namespaces.values()],
    });
  }

  async #followPeers(api: NodeApi, signal: AbortSignal): Promise<void> {
    await Promise.all([
      follow(api.followAllPods(signal), this.#pods, () => this.#changed()),
      follow(api.followNamespaces(signal), this.#namespaces, () => this.#changed()),
    ]);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** So that a policy that allows DNS as everybody writes it allows it here. */
function nameServerPod(podIP: string): StoredPod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "kube-dns",
      namespace: "kube-system",
      labels: { "k8s-app": "kube-dns" },
      uid: "",
      resourceVersion: "",
      creationTimestamp: "",
    },
    spec: {
      containers: [
        {
          name: "dns",
          ports: [
            { name: "dns", containerPort: 53, protocol: "UDP" },
            { name: "dns-tcp", containerPort: 53, protocol: "TCP" },
          ],
        },
      ],
    },
    status: { podIP },
  };
}
