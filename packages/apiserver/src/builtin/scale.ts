/** The replica counts of built-in workloads. */
import {
  formatLabelSelector,
  type JsonObject,
  type LabelSelectorObject,
  labelSelectorFrom,
  labelSelectorFromLabels,
} from "@keelson/core";
import type { ScaleAccess } from "../registry/api-resource.ts";

const scaled = new Set(["apps/Deployment", "apps/ReplicaSet", "apps/StatefulSet", "/ReplicationController"]);

export function scaleAccess(group: string, kind: string): ScaleAccess | undefined {
  if (!scaled.has(`${group}/${kind}`)) return undefined;
  return {
    path: ["spec", "replicas"],
    read(object) {
      const spec = (object.spec ?? {}) as JsonObject;
      const status = (object.status ?? {}) as JsonObject;
      return {
        replicas: Number(spec.replicas ?? 0),
        statusReplicas: Number(status.replicas ?? 0),
        selector: selectorText(kind, spec),
      };
    },
    write(draft, replicas) {
      draft.spec = { ...(draft.spec as JsonObject), replicas };
    },
  };
}

function selectorText(kind: string, spec: JsonObject): string {
  if (kind === "ReplicationController")
    return formatLabelSelector(labelSelectorFromLabels((spec.selector ?? {}) as Record<string, string>));
  return formatLabelSelector(labelSelectorFrom(spec.selector as LabelSelectorObject | undefined));
}
