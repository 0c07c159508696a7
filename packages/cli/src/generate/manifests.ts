/** Everything that installs an operator: CRDs, the exact role, the Deployment that runs it, and how it is reached. */
import type { OperatorParts, Project } from "../project.ts";
import { deploymentFor } from "./deployment.ts";
import { metricsService, networkPolicy, serviceMonitor } from "./network.ts";
import { rbacObjects } from "./rbac.ts";
import { labelsOf, type Site } from "./site.ts";
import { defaultValues, type Values } from "./values.ts";
import { crdsOf, servesWebhooks, webhookObjects } from "./webhooks.ts";

/** What an operator’s manifests are made for: its image, namespace and settings. */
export interface ManifestOptions {
  readonly namespace: string;
  readonly image: string;
  /** Default: as in the values. */
  readonly replicas?: number;
  /** Default: the usual ones. */
  readonly values?: Values;
}

/** An object to apply. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
}

/** The parts of an installation, each in the order in which its objects are to be applied. */
export interface Installation {
  readonly crds: readonly Manifest[];
  readonly namespace: Manifest;
  readonly rbac: readonly Manifest[];
  /** The Deployment and the Service with its metrics. */
  readonly workload: readonly Manifest[];
  readonly webhooks: readonly Manifest[];
  readonly policies: readonly Manifest[];
  readonly networkPolicy: Manifest;
  /** Only for clusters that have the Prometheus operator. */
  readonly serviceMonitor: Manifest;
}

export function installationOf(parts: OperatorParts, site: Site): Installation {
  const { name } = parts;
  const asked = servesWebhooks(parts);
  const all = {
    crds: crdsOf(parts, site),
    namespace: {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: site.namespace, labels: restricted },
    },
    rbac: rbacObjects(parts, site),
    workload: [metricsService(name, site), deploymentFor(name, site, { servesWebhooks: asked })],
    webhooks: webhookObjects(parts, site),
    policies: parts.policies.flatMap((policy) => policy.objects()),
    networkPolicy: networkPolicy(name, site, asked),
    serviceMonitor: serviceMonitor(name, site),
  };
  return all as unknown as Installation;
}

/** In the order in which they are to be applied. */
export function manifestsFor(project: Project, parts: OperatorParts, options: ManifestOptions): Manifest[] {
  const { image, namespace, values = defaultValues } = options;
  const replicas = options.replicas ?? values.replicas;
  const labels = labelsOf(parts.name, project);
  const site: Site = { namespace, image, labels, values: { ...values, replicas } };
  return inOrder(installationOf(parts, site), site.values);
}

export function inOrder(installation: Installation, { metrics, networkPolicy }: Values): Manifest[] {
  const { crds, namespace, policies, rbac, webhooks, workload } = installation;
  return [
    ...[...crds, namespace, ...rbac],
    ...(networkPolicy.enabled ? [installation.networkPolicy] : []),
    ...[...workload, ...webhooks, ...policies],
    ...(metrics.serviceMonitor.enabled ? [installation.serviceMonitor] : []),
  ];
}

const restricted = { "pod-security.kubernetes.io/enforce": "restricted" };
