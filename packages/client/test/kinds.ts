/** Two kinds for tests, one of each scope. */
import type { Kind, KubeObject } from "@keelson/core";

export interface ConfigMapLike extends KubeObject {
  data?: Record<string, string>;
}

export const ConfigMap: Kind<ConfigMapLike, "", "ConfigMap"> = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  resource: "configmaps",
  scope: "Namespaced",
};

export const Namespace: Kind<KubeObject, "", "Namespace"> = {
  group: "",
  version: "v1",
  kind: "Namespace",
  resource: "namespaces",
  scope: "Cluster",
};

/** A config map as a server would return it. */
export function configMap(name: string, resourceVersion: number | string, data: Record<string, string> = {}) {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name,
      namespace: "default",
      uid: `uid-${name}`,
      resourceVersion: String(resourceVersion),
      creationTimestamp: "2026-01-31T12:00:00Z",
    },
    data,
  };
}
