/** `componentstatuses`: the health of what a control plane once consisted of. */
import type { JsonObject } from "@keelson/core";
import { notFound } from "../errors.ts";
import { jsonResponse } from "../http/response.ts";
import type { SubresourceHandler } from "./subresources.ts";

const components = ["scheduler", "controller-manager", "etcd-0"];

function statusOf(name: string): JsonObject {
  return { metadata: { name }, conditions: [{ type: "Healthy", status: "True", message: "ok" }] };
}

export const componentStatuses: SubresourceHandler = async ({ info, resource }, negotiated) => {
  if (info.verb === "list") {
    const items = components.map(statusOf);
    return jsonResponse(
      200,
      { kind: "ComponentStatusList", apiVersion: "v1", metadata: {}, items },
      negotiated,
    );
  }
  if (!components.includes(info.name)) throw notFound(resource, info.name);
  return jsonResponse(200, { kind: "ComponentStatus", apiVersion: "v1", ...statusOf(info.name) }, negotiated);
};
