/** Metrics of autoscalers in the flat form that v1 keeps in annotations, and in the nested form of v2. */
import type { JsonObject, JsonValue } from "@keelson/core";

/** The source of a metric under its type: `Resource` is at `resource`. */
function sourceKey(metric: JsonObject): string {
  const type = String(metric.type ?? "");
  return (type[0]?.toLowerCase() ?? "") + type.slice(1);
}

function convert(metric: JsonObject, change: (key: string, source: JsonObject) => JsonObject): JsonObject {
  const key = sourceKey(metric);
  const source = metric[key] as JsonObject | undefined;
  return source ? { type: metric.type as JsonValue, [key]: change(key, source) } : metric;
}

/** Without the entries that are undefined. */
function compact(object: Record<string, JsonValue | undefined>): JsonObject {
  const out: JsonObject = {};
  for (const [key, value] of Object.entries(object)) if (value !== undefined) out[key] = value;
  return out;
}

const part = (object: JsonObject, key: string) => (object[key] ?? {}) as JsonObject;

export function metricToV1(metric: JsonObject): JsonObject {
  return convert(metric, (key, source) => {
    const target = part(source, "target");
    const named = part(source, "metric");
    switch (key) {
      case "pods":
        return compact({
          metricName: named.name,
          targetAverageValue: target.averageValue,
          selector: named.selector,
        });
      case "object":
        return compact({
          target: source.describedObject,
          metricName: named.name,
          targetValue: target.value,
          selector: named.selector,
          averageValue: target.averageValue,
        });
      case "external":
        return compact({
          metricName: named.name,
          metricSelector: named.selector,
          targetValue: target.value,
          targetAverageValue: target.averageValue,
        });
      default:
        return compact({
          name: source.name,
          targetAverageUtilization: target.averageUtilization,
          targetAverageValue: target.averageValue,
          container: source.container,
        });
    }
  });
}

export function metricToV2(metric: JsonObject): JsonObject {
  return convert(metric, (key, source) => {
    const value = source.targetValue;
    const averageValue = source.targetAverageValue ?? (key === "object" ? source.averageValue : undefined);
    const averageUtilization = source.targetAverageUtilization;
    const type =
      averageUtilization !== undefined
        ? "Utilization"
        : averageValue !== undefined
          ? "AverageValue"
          : "Value";
    const target = compact({
      type,
      value: averageValue === undefined ? value : undefined,
      averageValue,
      averageUtilization,
    });
    const named = compact({ name: source.metricName, selector: source.selector ?? source.metricSelector });
    switch (key) {
      case "pods":
      case "external":
        return { metric: named, target };
      case "object":
        return compact({ describedObject: source.target, target, metric: named });
      default:
        return compact({ name: source.name, container: source.container, target });
    }
  });
}

export function currentToV1(metric: JsonObject): JsonObject {
  return convert(metric, (key, source) => {
    const current = part(source, "current");
    const named = part(source, "metric");
    switch (key) {
      case "pods":
        return compact({
          metricName: named.name,
          currentAverageValue: current.averageValue,
          selector: named.selector,
        });
      case "object":
        return compact({
          target: source.describedObject,
          metricName: named.name,
          currentValue: current.value,
          selector: named.selector,
          averageValue: current.averageValue,
        });
      case "external":
        return compact({
          metricName: named.name,
          metricSelector: named.selector,
          currentValue: current.value,
          currentAverageValue: current.averageValue,
        });
      default:
        return compact({
          name: source.name,
          currentAverageUtilization: current.averageUtilization,
          currentAverageValue: current.averageValue,
          container: source.container,
        });
    }
  });
}

export function currentToV2(metric: JsonObject): JsonObject {
  return convert(metric, (key, source) => {
    const current = compact({
      value: source.currentValue,
      averageValue: source.currentAverageValue ?? (key === "object" ? source.averageValue : undefined),
      averageUtilization: source.currentAverageUtilization,
    });
    const named = compact({ name: source.metricName, selector: source.selector ?? source.metricSelector });
    switch (key) {
      case "pods":
      case "external":
        return { metric: named, current };
      case "object":
        return compact({ describedObject: source.target, metric: named, current });
      default:
        return compact({ name: source.name, container: source.container, current });
    }
  });
}

/** The server's own types, whose field names v1 keeps: all are there, the absent ones as null. */
const behaviorFields = ["ScaleUp", "ScaleDown"];
const ruleFields = ["StabilizationWindowSeconds", "SelectPolicy", "Policies", "Tolerance"];
const policyFields = ["Type", "Value", "PeriodSeconds"];

const lowered = (name: string) => name.slice(0, 1).toLowerCase() + name.slice(1);

function named(object: JsonObject, fields: readonly string[], inner: (value: JsonValue) => JsonValue) {
  return Object.fromEntries(
    fields.map((field) => {
      const value = object[lowered(field)];
      return [field, value === undefined || value === null ? null : inner(value)];
    }),
  );
}

/** A behavior as v1 keeps it in an annotation. */
export function behaviorToV1(behavior: JsonObject): JsonObject {
  const policy = (value: JsonValue) => named(value as JsonObject, policyFields, (field) => field);
  const rules = (value: JsonValue) =>
    named(value as JsonObject, ruleFields, (field) => (Array.isArray(field) ? field.map(policy) : field));
  return named(behavior, behaviorFields, rules);
}

/** Names are read whatever their case. */
export function behaviorToV2(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(behaviorToV2);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(kept.map(([key, inner]) => [lowered(key), behaviorToV2(inner as JsonValue)]));
}
