/** How others reach an operator: its metrics, who may ask for them, and its webhooks. */
import type { InputOf } from "@keelson/core";
import type { NetworkPolicy, Service } from "@keelson/core/kinds";
import { optional } from "./rbac.ts";
import { type Site, selectorOf } from "./site.ts";

export function metricsService(name: string, { labels, namespace }: Site) {
  const service: InputOf<typeof Service> & { metadata: object } = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace, labels },
    spec: { selector: selectorOf(name), ports: [{ name: "http", port: 8080, targetPort: "http" }] },
  };
  return service;
}

/** For the Prometheus operator, whose CRD a cluster may lack. */
export function serviceMonitor(name: string, { labels, namespace, values }: Site) {
  const { interval, labels: own } = values.metrics.serviceMonitor;
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "ServiceMonitor",
    metadata: { name, namespace, labels: { ...own, ...labels } },
    spec: {
      selector: { matchLabels: selectorOf(name) },
      endpoints: [{ port: "http", path: "/metrics", interval }],
    },
  };
}

/**
 * The API server may call webhooks, and pods may read metrics. Where the operator itself connects to is its author's to
 * limit.
 */
export function networkPolicy(name: string, { labels, namespace, values }: Site, servesWebhooks: boolean) {
  const policy: InputOf<typeof NetworkPolicy> & { metadata: object } = {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name, namespace, labels },
    spec: {
      podSelector: { matchLabels: selectorOf(name) },
      policyTypes: ["Ingress"],
      ingress: [
        {
          ports: [{ port: 8080, protocol: "TCP" }],
          ...optional("from", values.networkPolicy.metricsFrom as never),
        },
        // An API server has no pod that could be selected.
        ...(servesWebhooks ? [{ ports: [{ port: 9443, protocol: "TCP" as const }] }] : []),
      ],
    },
  };
  return policy;
}
