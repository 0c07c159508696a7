/** PodResizeValidator: a pod can grow only as far as its node. */
import { Quantity } from "@keelson/core";
import type { Node, Pod, PodSpec } from "@keelson/core/kinds";
import { podAmounts } from "@keelson/workloads";
import type { AdmissionPlugin } from "../contracts/admission.ts";
import type { StoreReader } from "../contracts/store.ts";
import { refused } from "./refusals.ts";

const nodes = { group: "", resource: "nodes" };
const none = Quantity.from(0);

export function podResizeValidator(store: StoreReader): AdmissionPlugin {
  return {
    name: "PodResizeValidator",
    validate(request) {
      if (request.subresource !== "resize" || request.resource.resource !== "pods") return;
      const pod = request.object as unknown as Pod | undefined;
      const nodeName = pod?.spec?.nodeName;
      if (!pod || !nodeName || request.oldObject?.metadata.generation === pod.metadata?.generation) return;
      const node = store.get(nodes, "", nodeName) as unknown as Node | undefined;
      if (!node) throw refused(request, `node ${JSON.stringify(nodeName)} not found`);
      const system = node.metadata?.labels?.["kubernetes.io/os"] ?? "linux";
      if (system !== "linux")
        throw refused(
          request,
          `pod resize is only supported on linux nodes, node ${JSON.stringify(nodeName)} is ${JSON.stringify(system)}`,
          [{ reason: "UnsupportedPlatform" }],
        );
      const lacking = lackingAt(node, pod.spec as PodSpec);
      if (lacking.length > 0)
        throw refused(request, `node didn't have enough allocatable resources: ${lacking.join("; ")}`, [
          { reason: "NodeCapacity" },
        ]);
    },
  };
}

function lackingAt({ status }: Node, spec: PodSpec): string[] {
  const requests = podAmounts(spec, "requests");
  return (["cpu", "memory"] as const).flatMap((name) => {
    const wanted = requests.get(name) ?? none;
    const there = Quantity.from(status?.allocatable?.[name] ?? 0);
    if (wanted.compare(there) <= 0) return [];
    const shown = (amount: Quantity) => (name === "cpu" ? amount.milliValue() : amount.value());
    return [`${name}, requested: ${shown(wanted)}, allocatable: ${shown(there)}`];
  });
}
