/** The built-in kinds that are served in more than one version: events and autoscalers. */
import { type JsonObject, type JsonValue, parseJson } from "@keelson/core";
import { lookupTable } from "@keelson/core/internal";
import type { ApiObject } from "../contracts/object.ts";
import {
  behaviorToV1,
  behaviorToV2,
  currentToV1,
  currentToV2,
  metricToV1,
  metricToV2,
} from "./autoscaler-metrics.ts";
import { decodeBuiltin } from "./decode.ts";

type Converter = (object: ApiObject) => ApiObject;

const eventFields: readonly (readonly [core: string, events: string])[] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"],
];

function renameFields(from: 0 | 1, apiVersion: string): Converter {
  const names = new Map(eventFields.map((pair) => [pair[from], pair[from === 0 ? 1 : 0]]));
  return (object) => {
    const out: JsonObject = {};
    for (const [key, value] of Object.entries(object)) out[names.get(key) ?? key] = value;
    out.apiVersion = apiVersion;
    return out as ApiObject;
  };
}

const annotationPrefix = "autoscaling.alpha.kubernetes.io/";

/** v1 knows one target, the processor's; what else v2 says is kept in annotations. */
const autoscalerToV1: Converter = (object) => {
  const { spec, status, metadata } = object as unknown as Record<string, JsonObject>;
  const { metrics, behavior, ...restSpec } = spec ?? {};
  const { currentMetrics, conditions, ...restStatus } = status ?? {};
  const annotations: JsonObject = { ...((metadata?.annotations as JsonObject | undefined) ?? {}) };
  const list = (metrics as JsonObject[] | undefined) ?? [];
  const cpu = list.find(isCpuUtilization);
  const others = list.filter((metric) => metric !== cpu);
  const current = (currentMetrics as JsonObject[] | null | undefined) ?? [];
  const currentCpu = current.find((metric) => (metric.resource as JsonObject | undefined)?.name === "cpu");
  if (others.length > 0) annotations[`${annotationPrefix}metrics`] = JSON.stringify(others.map(metricToV1));
  if (behavior)
    annotations[`${annotationPrefix}behavior`] = JSON.stringify(behaviorToV1(behavior as JsonObject));
  if (conditions) annotations[`${annotationPrefix}conditions`] = JSON.stringify(conditions);
  if (current.length > 0)
    annotations[`${annotationPrefix}current-metrics`] = JSON.stringify(current.map(currentToV1));
  const target = cpu && ((cpu.resource as JsonObject).target as JsonObject).averageUtilization;
  const utilization = ((currentCpu?.resource as JsonObject | undefined)?.current as JsonObject | undefined)
    ?.averageUtilization;
  return {
    ...object,
    apiVersion: "autoscaling/v1",
    metadata: withAnnotations(metadata, annotations),
    spec: {
      ...restSpec,
      ...(target !== undefined && { targetCPUUtilizationPercentage: target }),
    },
    status: {
      currentReplicas: 0,
      ...restStatus,
      ...(utilization !== undefined && { currentCPUUtilizationPercentage: utilization }),
    },
  } as unknown as ApiObject;
};

const autoscalerToV2: Converter = (object) => {
  const { spec, status, metadata } = object as unknown as Record<string, JsonObject>;
  const { targetCPUUtilizationPercentage: target, ...restSpec } = spec ?? {};
  const { currentCPUUtilizationPercentage: utilization, ...restStatus } = status ?? {};
  const annotations: JsonObject = { ...((metadata?.annotations as JsonObject | undefined) ?? {}) };
  const take = (name: string): JsonValue | undefined => {
    const text = annotations[annotationPrefix + name];
    delete annotations[annotationPrefix + name];
    try {
      return typeof text === "string" ? parseJson(text) : undefined;
    } catch {
      return undefined;
    }
  };
  const metrics = ((take("metrics") as JsonObject[] | undefined) ?? []).map(metricToV2);
  if (target !== undefined)
    metrics.push({
      type: "Resource",
      resource: { name: "cpu", target: { type: "Utilization", averageUtilization: target } },
    });
  const behavior = behaviorToV2(take("behavior") ?? null);
  const conditions = take("conditions");
  let current: JsonValue | undefined = (take("current-metrics") as JsonObject[] | undefined)?.map(
    currentToV2,
  );
  if (current === undefined && utilization !== undefined)
    current = [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: utilization } } }];
  return {
    ...object,
    apiVersion: "autoscaling/v2",
    metadata: withAnnotations(metadata, annotations),
    spec: { ...restSpec, ...(metrics.length > 0 && { metrics }), ...(behavior && { behavior }) },
    status: {
      desiredReplicas: 0,
      ...restStatus,
      currentMetrics: current ?? null,
      ...(conditions && { conditions }),
    },
  } as unknown as ApiObject;
};

function isCpuUtilization(metric: JsonObject): boolean {
  const resource = metric.resource as JsonObject | undefined;
  const target = resource?.target as JsonObject | undefined;
  return metric.type === "Resource" && resource?.name === "cpu" && target?.averageUtilization !== undefined;
}

function withAnnotations(metadata: JsonObject | undefined, annotations: JsonObject): JsonObject {
  const { annotations: _, ...rest } = metadata ?? {};
  return Object.keys(annotations).length > 0 ? { ...rest, annotations } : rest;
}

const converters: Readonly<Record<string, Converter>> = lookupTable({
  "v1 Event > events.k8s.io/v1": renameFields(0, "events.k8s.io/v1"),
  "events.k8s.io/v1 Event > v1": renameFields(1, "v1"),
  "autoscaling/v2 HorizontalPodAutoscaler > autoscaling/v1": autoscalerToV1,
  "autoscaling/v1 HorizontalPodAutoscaler > autoscaling/v2": autoscalerToV2,
});

const converted = new WeakMap<object, ApiObject>();

/**
 * The object at another apiVersion, of which `definition` is the schema; stored objects are converted once.
 */
export function convertBuiltin(
  object: ApiObject,
  apiVersion: string,
  definition: string | undefined,
): ApiObject {
  if (object.apiVersion === apiVersion) return object;
  const convert = converters[`${String(object.apiVersion)} ${String(object.kind)} > ${apiVersion}`];
  if (!convert) return object;
  const known = Object.isFrozen(object) ? converted.get(object) : undefined;
  if (known) return known;
  const draft = convert(object);
  // Versions differ in which empty fields they print.
  const result = definition
    ? ({ ...decodeBuiltin(definition, draft), apiVersion, kind: object.kind } as unknown as ApiObject)
    : draft;
  if (Object.isFrozen(object)) converted.set(object, result);
  return result;
}
