import { describe, expect, test } from "vitest";
import type { ManagedFieldsEntry } from "../object.ts";
import { parentEntries, type ReplicasPaths, scaleEntries } from "./scale.ts";

const paths: ReplicasPaths = new Map([["apps/v1", ["f:spec", "f:replicas"]]]);
const time = "2026-01-01T00:00:00Z";
const entry = (manager: string, over: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry => ({
  manager,
  operation: "Apply",
  apiVersion: "apps/v1",
  time,
  fieldsType: "FieldsV1",
  fieldsV1: { "f:spec": { "f:replicas": {}, "f:selector": {} } },
  ...over,
});
const replicas = { "f:spec": { "f:replicas": {} } };

describe("ownership of replicas through scale", () => {
  test("the Scale object shows who owns the replicas, in its own version", () => {
    expect(
      scaleEntries(
        [
          entry("m1"),
          entry("m2", { fieldsV1: { "f:metadata": {} } }),
          entry("m3", { apiVersion: "apps/v0" }),
        ],
        paths,
      ),
    ).toEqual([{ ...entry("m1"), apiVersion: "autoscaling/v1", fieldsV1: replicas }]);
  });

  test("an applier that still owns them keeps its entry as it is", () => {
    const parent = [entry("m1")];
    expect(parentEntries(parent, scaleEntries(parent, paths), paths, "apps/v1")).toEqual(parent);
  });

  test("who scales takes the field, without a time; who had it keeps the rest", () => {
    const scale = [
      entry("scaler", {
        operation: "Update",
        apiVersion: "autoscaling/v1",
        subresource: "scale",
        fieldsV1: replicas,
      }),
    ];
    expect(parentEntries([entry("m1")], scale, paths, "apps/v1")).toEqual([
      entry("m1", { fieldsV1: { "f:spec": { "f:selector": {} } } }),
      {
        manager: "scaler",
        operation: "Update",
        apiVersion: "apps/v1",
        fieldsType: "FieldsV1",
        fieldsV1: replicas,
        subresource: "scale",
      },
    ]);
  });

  test("who had nothing else loses its entry, and versions without a mapping are dropped", () => {
    expect(
      parentEntries(
        [entry("m1", { fieldsV1: replicas }), entry("old", { apiVersion: "apps/v0" })],
        [],
        paths,
        "apps/v1",
      ),
    ).toEqual([]);
  });
});
