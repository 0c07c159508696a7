/** A pod's own fields, for its environment and its downward API files. */
import { Quantity } from "@keelson/core";
import type { Container, ObjectFieldSelector, Pod, ResourceFieldSelector } from "@keelson/core/kinds";
import { NodeError } from "../errors.ts";

export interface DownwardContext {
  readonly pod: Pod;
  readonly podAddress: string;
  readonly hostAddress: string;
  readonly nodeName: string;
  /** What a container without a limit may use at most. */
  readonly allocatable: Readonly<Record<string, string>>;
}

export function fieldValue(selector: ObjectFieldSelector, context: DownwardContext): string {
  const { pod } = context;
  const meta = pod.metadata ?? {};
  const path = selector.fieldPath;
  const subscript = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path);
  if (subscript !== null) {
    const map = subscript[1] === "labels" ? meta.labels : meta.annotations;
    return map?.[subscript[2] ?? ""] ?? "";
  }
  switch (path) {
    case "metadata.name":
      return meta.name ?? "";
    case "metadata.namespace":
      return meta.namespace ?? "";
    case "metadata.uid":
      return meta.uid ?? "";
    case "metadata.labels":
      return formatMap(meta.labels);
    case "metadata.annotations":
      return formatMap(meta.annotations);
    case "spec.nodeName":
      return pod.spec?.nodeName ?? context.nodeName;
    case "spec.serviceAccountName":
      return pod.spec?.serviceAccountName ?? "";
    case "status.hostIP":
    case "status.hostIPs":
      return context.hostAddress;
    case "status.podIP":
    case "status.podIPs":
      return context.podAddress;
    default:
      throw new NodeError("ContainerConfig", `unsupported fieldPath: ${path}`);
  }
}

export function resourceValue(
  selector: ResourceFieldSelector,
  container: Container,
  context: DownwardContext,
): string {
  const [kind = "", ...rest] = selector.resource.split(".");
  const name = rest.join(".");
  const { limits = {}, requests = {} } = container.resources ?? {};
  const fallback = context.allocatable[name] ?? "0";
  const found =
    kind === "limits"
      ? (limits[name] ?? fallback)
      : kind === "requests"
        ? (requests[name] ?? limits[name] ?? "0")
        : undefined;
  if (found === undefined)
    throw new NodeError("ContainerConfig", `unsupported resource: ${selector.resource}`);
  const amount = Quantity.from(found);
  const divisor = Quantity.from(selector.divisor ?? "1");
  const one = divisor.isZero() ? Quantity.parse("1") : divisor;
  // Cores are divided by the thousand, everything else by the whole; both round up.
  const [top, bottom] =
    name === "cpu" ? [amount.milliValue(), one.milliValue()] : [amount.value(), one.value()];
  return String((top + bottom - 1n) / bottom);
}

/** `key="value"` lines in order of keys, as the files show labels and annotations. */
export function formatMap(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join("\n");
}
