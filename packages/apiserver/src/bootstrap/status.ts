/** What parts of the server have said of the objects it begins with by the time it is ready. */
import { formatTime, type JsonObject } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** The object with its status; others are returned as they are. */
export function withStatus(object: ApiObject, nowMs: number): ApiObject {
  switch (object.kind) {
    case "PriorityLevelConfiguration":
      return { ...object, status: {} };
    case "FlowSchema":
      return withCondition(
        object,
        levelFound(object.spec as JsonObject),
        "api-priority-and-fairness-config-consumer-v1",
        nowMs,
      );
    case "ServiceCIDR":
      return withCondition(object, rangeReady, "kubernetes-service-cidr-controller", nowMs);
    default:
      return object;
  }
}

/** Every schema of the beginning has its level. */
function levelFound({ priorityLevelConfiguration }: JsonObject): Condition {
  const name = JSON.stringify((priorityLevelConfiguration as JsonObject).name);
  return {
    type: "Dangling",
    status: "False",
    reason: "Found",
    message: `This FlowSchema references the PriorityLevelConfiguration object named ${name} and it exists`,
  };
}

const rangeReady: Condition = {
  type: "Ready",
  status: "True",
  reason: "",
  message: "Kubernetes default Service CIDR is ready",
};

function withCondition(object: ApiObject, said: Condition, manager: string, nowMs: number): ApiObject {
  const condition = { ...said, lastTransitionTime: formatTime(nowMs) };
  const fields = Object.entries(condition).flatMap(([name, value]) => (value ? [[`f:${name}`, {}]] : []));
  const key = `k:${JSON.stringify({ type: said.type })}`;
  const entry: JsonObject = {
    manager,
    operation: "Apply",
    apiVersion: object.apiVersion as string,
    time: formatTime(nowMs),
    fieldsType: "FieldsV1",
    fieldsV1: { "f:status": { "f:conditions": { [key]: { ".": {}, ...Object.fromEntries(fields) } } } },
    subresource: "status",
  };
  const { metadata } = object;
  const managedFields = [entry, ...((metadata.managedFields as JsonObject[] | undefined) ?? [])];
  return { ...object, metadata: { ...metadata, managedFields }, status: { conditions: [condition] } };
}
