/** The Deployment that runs an operator: restricted, with probes, and with replicas that stand by. */
import type { InputOf } from "@keelson/core";
import type { Deployment } from "@keelson/core/kinds";
import { optional } from "./rbac.ts";
import { type Site, selectorOf } from "./site.ts";

type PodSpec = NonNullable<NonNullable<InputOf<typeof Deployment>["spec"]>["template"]["spec"]>;

export interface DeploymentOptions {
  readonly servesWebhooks: boolean;
  /** Variables beside those of the values. */
  readonly env?: readonly { readonly name: string; readonly value: string }[];
}

export function deploymentFor(name: string, site: Site, options: DeploymentOptions) {
  const { labels, namespace, values } = site;
  const deployment: InputOf<typeof Deployment> & { metadata: { name: string; namespace: string } } = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels },
    spec: {
      replicas: values.replicas,
      selector: { matchLabels: selectorOf(name) },
      template: {
        metadata: {
          labels: { ...values.podLabels, ...labels },
          annotations: { "kubectl.kubernetes.io/default-container": "operator", ...values.podAnnotations },
        },
        spec: podSpec(name, site, options),
      },
    },
  };
  return deployment;
}

function podSpec(name: string, { image, values }: Site, options: DeploymentOptions): PodSpec {
  const { servesWebhooks, env = [] } = options;
  return {
    serviceAccountName: name,
    ...optional("imagePullSecrets", values.imagePullSecrets),
    ...optional("priorityClassName", values.priorityClassName),
    ...optional("nodeSelector", values.nodeSelector),
    ...optional("tolerations", values.tolerations as PodSpec["tolerations"] & object),
    ...optional("affinity", values.affinity as PodSpec["affinity"] & object),
    // A standby on the same machine would go down with its leader.
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: "kubernetes.io/hostname",
        whenUnsatisfiable: "ScheduleAnyway",
        labelSelector: { matchLabels: selectorOf(name) },
      },
    ],
    terminationGracePeriodSeconds: 40,
    securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "operator",
        image,
        ...optional("imagePullPolicy", values.image.pullPolicy as "Always"),
        env: [
          // For operators that run pods of their own from the image they are in.
          { name: "OPERATOR_IMAGE", value: image },
          { name: "LOG_LEVEL", value: values.logLevel },
          ...env,
          ...values.env,
        ],
        ...optional("envFrom", values.envFrom as never),
        ports: [
          { name: "http", containerPort: 8080 },
          ...(servesWebhooks ? [{ name: "webhook", containerPort: 9443 }] : []),
        ],
        // An operator that starts while the API server is away waits for it: killing it would only add a backoff.
        startupProbe: {
          httpGet: { path: "/healthz", port: "http" },
          periodSeconds: 1,
          failureThreshold: 300,
        },
        livenessProbe: { httpGet: { path: "/healthz", port: "http" } },
        readinessProbe: { httpGet: { path: "/readyz", port: "http" }, periodSeconds: 2 },
        ...optional("resources", values.resources as never),
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        },
        ...optional("volumeMounts", values.volumeMounts as never),
      },
    ],
    ...optional("volumes", values.volumes as never),
  };
}
