/** A pod's quality-of-service class, from its requests and limits. */
import { Quantity } from "@keelson/core";
import type { Container, PodSpec } from "@keelson/core/kinds";

export type QosClass = "BestEffort" | "Burstable" | "Guaranteed";

const counted = ["cpu", "memory"] as const;

export function qosClassOf(spec: PodSpec): QosClass {
  const containers: Container[] = [...spec.containers, ...(spec.initContainers ?? [])];
  const parts =
    spec.resources === undefined ? containers.map(({ resources }) => resources) : [spec.resources];
  const positive = (amount: string | number | undefined) =>
    amount !== undefined && Quantity.from(amount).sign() > 0;
  const any = parts.some((resources) =>
    counted.some((name) => positive(resources?.requests?.[name]) || positive(resources?.limits?.[name])),
  );
  if (!any) return "BestEffort";
  const guaranteed = parts.every((resources) =>
    counted.every((name) => {
      const limit = resources?.limits?.[name];
      const request = resources?.requests?.[name] ?? limit;
      if (limit === undefined || request === undefined || !positive(limit)) return false;
      return Quantity.from(limit).equals(Quantity.from(request));
    }),
  );
  return guaranteed ? "Guaranteed" : "Burstable";
}
