/** A kustomize base, and overlays of it: the usual one, one with a ServiceMonitor, one for development. */
import type { Installation, Manifest } from "./manifests.ts";
import { yamlOf } from "./yaml-text.ts";

/** Files by path below the folder. */
export type Files = ReadonlyMap<string, string>;

export function kustomizeFiles(installation: Installation): Files {
  const { crds, namespace, networkPolicy, policies, rbac, serviceMonitor, webhooks, workload } = installation;
  const base: [string, readonly Manifest[]][] = [
    ...crds.map((crd): [string, Manifest[]] => [`crds/${crd.metadata.name}.yaml`, [crd]]),
    ["namespace.yaml", [namespace]],
    ["rbac.yaml", rbac],
    ["deployment.yaml", workload],
    ["webhooks.yaml", webhooks],
    ["policies.yaml", policies],
  ];
  const written = base.filter(([, objects]) => objects.length > 0);
  const deployment = workload.find(({ kind }) => kind === "Deployment")?.metadata.name ?? "";
  return new Map([
    ...written.map(([path, objects]): [string, string] => [`base/${path}`, yamlOf(...objects)]),
    ["base/kustomization.yaml", kustomization(written.map(([path]) => path))],
    ["overlays/default/network-policy.yaml", yamlOf(networkPolicy)],
    ["overlays/default/kustomization.yaml", kustomization(["../../base", "network-policy.yaml"])],
    ["overlays/monitoring/service-monitor.yaml", yamlOf(serviceMonitor)],
    ["overlays/monitoring/kustomization.yaml", kustomization(["../default", "service-monitor.yaml"])],
    [
      "overlays/development/kustomization.yaml",
      kustomization(["../../base"], { patches: [developmentPatch(deployment)] }),
    ],
  ]);
}

/** One replica, which tells everything. */
function developmentPatch(name: string) {
  return {
    target: { kind: "Deployment", name },
    patch: yamlOf({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name },
      spec: {
        replicas: 1,
        template: {
          spec: { containers: [{ name: "operator", env: [{ name: "LOG_LEVEL", value: "debug" }] }] },
        },
      },
    }),
  };
}

function kustomization(resources: readonly string[], more: object = {}): string {
  return yamlOf({ apiVersion: "kustomize.config.k8s.io/v1beta1", kind: "Kustomization", resources, ...more });
}
