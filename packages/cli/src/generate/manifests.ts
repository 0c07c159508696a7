/** Everything that installs an operator: CRDs, the exact role, and the Deployment that runs it. */
import type { InputOf } from "@keelson/core";
import {
  ClusterRole,
  ClusterRoleBinding,
  type CustomResourceDefinition,
  Deployment,
  Namespace,
  Role,
  RoleBinding,
  Secret,
  Service,
  ServiceAccount,
} from "@keelson/core/kinds";
import { roleFor, webhookConfigurations, webhookServiceName } from "@keelson/runtime";
import { convertedAmong, convertedCrd, webhookRole } from "@keelson/runtime/internal";
import type { Resource } from "@keelson/schema";
import type { OperatorParts, Project } from "../project.ts";

/** What an operator’s manifests are made for: its image, namespace and name. */
export interface ManifestOptions {
  readonly namespace: string;
  readonly image: string;
  readonly replicas: number;
}

type Manifest = { apiVersion: string; kind: string; metadata: { name: string; namespace?: string } };

/** In the order in which they are to be applied. */
export function manifestsFor(project: Project, parts: OperatorParts, options: ManifestOptions): Manifest[] {
  const { name } = project;
  const { image, namespace, replicas } = options;
  const labels = { "app.kubernetes.io/name": name, "app.kubernetes.io/version": project.version };
  const own = { name, namespace, labels };
  const subjects = [{ kind: "ServiceAccount" as const, name, namespace }];
  const { controllers, webhooks } = parts;
  const served = webhookParts(project, parts, options);
  const shared = webhookRole(controllers, { name, webhooks, part: "namespace" });
  const lease = [...roleFor([], { lease: name, events: false }), ...shared];
  const rules = roleFor(controllers, { webhooks: { name, webhooks, part: "cluster" } });
  const crds: InputOf<typeof CustomResourceDefinition>[] = parts.resources.map((resource) =>
    isConverted(resource) ? convertedCrd(resource, served.place) : resource.crd(),
  );
  return [
    ...crds,
    { apiVersion: "v1", kind: Namespace.kind, metadata: { name: namespace, labels: restricted } },
    { apiVersion: "v1", kind: ServiceAccount.kind, metadata: own },
    { apiVersion: rbac, kind: ClusterRole.kind, metadata: { name, labels }, rules },
    {
      apiVersion: rbac,
      kind: ClusterRoleBinding.kind,
      metadata: { name, labels },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects,
    },
    { apiVersion: rbac, kind: Role.kind, metadata: own, rules: lease },
    {
      apiVersion: rbac,
      kind: RoleBinding.kind,
      metadata: own,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
      subjects,
    },
    {
      apiVersion: "apps/v1",
      kind: Deployment.kind,
      metadata: own,
      spec: {
        replicas,
        selector: { matchLabels: { "app.kubernetes.io/name": name } },
        template: { metadata: { labels }, spec: podSpec(name, image, served.objects.length > 0) },
      },
    },
    ...served.objects,
    ...parts.policies.flatMap((policy) => policy.objects()),
  ] as Manifest[];
}

/** What webhooks need: a Service, a Secret that the operator fills, and their registration. */
function webhookParts(project: Project, parts: OperatorParts, { namespace }: ManifestOptions) {
  const { name } = project;
  const labels = { "app.kubernetes.io/name": name, "app.kubernetes.io/version": project.version };
  const service = webhookServiceName(name);
  const place = { name, labels, place: { service: { namespace, name: service } } };
  const isAsked = parts.webhooks.length > 0 || parts.resources.some(isConverted);
  const objects = [
    { apiVersion: "v1", kind: Secret.kind, metadata: { name: service, namespace, labels } },
    {
      apiVersion: "v1",
      kind: Service.kind,
      metadata: { name: service, namespace, labels },
      spec: {
        selector: { "app.kubernetes.io/name": name },
        ports: [{ name: "webhook", port: 443, targetPort: "webhook" }],
      },
    },
    ...webhookConfigurations(parts.webhooks, place),
  ];
  return { place, objects: isAsked ? objects : [] };
}

function isConverted(resource: Resource): boolean {
  return convertedAmong([resource]).length > 0;
}

const rbac = "rbac.authorization.k8s.io/v1";
const restricted = { "pod-security.kubernetes.io/enforce": "restricted" };

function podSpec(
  name: string,
  image: string,
  servesWebhooks: boolean,
): NonNullable<InputOf<typeof Deployment>["spec"]>["template"]["spec"] {
  return {
    serviceAccountName: name,
    terminationGracePeriodSeconds: 40,
    securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "operator",
        image,
        // For operators that run pods of their own from the image they are in.
        env: [{ name: "OPERATOR_IMAGE", value: image }],
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
        resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        },
      },
    ],
  };
}
