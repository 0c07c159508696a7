/** `componentstatuses`: the health of what a control plane once consisted of. */
import type { JsonObject } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import type { Printer } from "../contracts/printer.ts";
import { notFound } from "../contracts/status-error.ts";
import type { Negotiated } from "../messages/negotiation.ts";
import { jsonResponse } from "../messages/response.ts";
import type { SubresourceHandler } from "../rest/subresources.ts";
import { nameDescription, parseIncludeObject, tableOf } from "../rest/table-output.ts";

const components = ["scheduler", "controller-manager", "etcd-0"];

function statusOf(name: string): ApiObject {
  return { metadata: { name }, conditions: [{ type: "Healthy", status: "True", message: "ok" }] };
}

const printer: Printer = {
  columns: [
    { name: "Name", type: "string", format: "name", description: nameDescription },
    { name: "Status", type: "string" },
    { name: "Message", type: "string" },
    { name: "Error", type: "string" },
  ],
  row: (object) => ({ cells: [object.metadata.name, "Healthy", "ok", ""] }),
};

function asTable(
  objects: readonly ApiObject[],
  query: URLSearchParams,
  transform: NonNullable<Negotiated["transform"]>,
): JsonObject {
  const include = parseIncludeObject(query);
  const whole = (object: ApiObject) => ({ kind: "ComponentStatus", apiVersion: "v1", ...object });
  return tableOf(printer, objects, {}, { transform, include, whole, nowMs: 0, headers: true });
}

export const componentStatuses: SubresourceHandler = async ({ info, resource }, negotiated) => {
  const { transform } = negotiated;
  const found = info.verb === "list" ? components : components.filter((name) => name === info.name);
  if (found.length === 0) throw notFound(resource, info.name);
  const items = found.map(statusOf);
  const one = { kind: "ComponentStatus", apiVersion: "v1", ...items[0] };
  const list = { kind: "ComponentStatusList", apiVersion: "v1", metadata: {}, items };
  const plain = info.verb === "list" ? list : one;
  const body = transform?.kind === "Table" ? asTable(items, info.query, transform) : plain;
  return jsonResponse(200, body, negotiated);
};
