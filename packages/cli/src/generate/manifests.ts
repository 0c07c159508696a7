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
  ServiceAccount,
} from "@keelson/core/kinds";
import { roleFor } from "@keelson/runtime";
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
  const lease = roleFor([], { lease: name, events: false });
  const rules = roleFor(parts.controllers);
  const crds: InputOf<typeof CustomResourceDefinition>[] = parts.resources.map((resource) => resource.crd());
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
        template: { metadata: { labels }, spec: podSpec(name, image) },
      },
    },
  ] as Manifest[];
}

const rbac = "rbac.authorization.k8s.io/v1";
const restricted = { "pod-security.kubernetes.io/enforce": "restricted" };

function podSpec(
  name: string,
  image: string,
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
        ports: [{ name: "http", containerPort: 8080 }],
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
