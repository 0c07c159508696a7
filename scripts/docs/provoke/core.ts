/** Provokes every error of @keelson/core. */
import { type CoreErrorCode, parseDuration, parseLabelSelector, parseTime, Quantity } from "@keelson/core";
import { parseSchedule } from "@keelson/core/internal";
import {
  applyJsonPatch,
  applyPatch,
  applyStrategicPatch,
  checkType,
  decodeManagedFields,
  type ManagedResource,
  type MergeErrorCode,
  parseJsonPatch,
  scalarType,
  structType,
  typeFromStructuralSchema,
} from "@keelson/core/internal/merge";
import type { Provocations } from "../provoked.ts";

export const core: Provocations<CoreErrorCode> = {
  InvalidQuantity: () => Quantity.parse("ten"),
  InvalidSelector: () => parseLabelSelector("tier in (web"),
  InvalidTime: () => parseTime("yesterday"),
  InvalidDuration: () => parseDuration("soon"),
  InvalidSchedule: () => parseSchedule("every day"),
};

const text = scalarType("string");
const configMap: ManagedResource = {
  apiVersion: "v1",
  kind: "ConfigMap",
  type: structType({ apiVersion: text, kind: text, data: text }),
  zero: {},
};

export const merge: Provocations<MergeErrorCode> = {
  BadPatch: () => parseJsonPatch({ op: "remove", path: "/data" }),
  PatchFailed: () => applyJsonPatch({ data: {} }, [{ op: "remove", path: "/data/key" }]),
  PatchUnusable: () => applyStrategicPatch({}, { $patch: "append" }, configMap.type),
  TypeMismatch: () => checkType({ apiVersion: 1 }, configMap.type, { allowDuplicates: false }),
  BadApply: () =>
    applyPatch({
      resource: configMap,
      config: { apiVersion: "v1", kind: "Secret" },
      manager: "me",
      now: "2026-01-01T00:00:00Z",
    }),
  BadManagedFields: () => decodeManagedFields([{ manager: "me", operation: "Write" as "Apply" }]),
  BadSchema: () =>
    typeFromStructuralSchema({ type: "array", items: {}, "x-kubernetes-list-type": "bag" }).atom,
};
