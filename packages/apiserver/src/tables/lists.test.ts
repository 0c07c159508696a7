import { describe, expect, it } from "vitest";
import { fieldSelectorRefusal, fieldSelectors, resource, resources, tableColumns } from "./index.ts";

const pods = { groupVersion: "v1", name: "pods" };

describe("table columns", () => {
  it("are those of kubectl get, wide ones marked", () => {
    const columns = tableColumns(pods);
    expect(columns.filter((column) => column.priority === 0).map((column) => column.name)).toEqual([
      "Name",
      "Ready",
      "Status",
      "Restarts",
      "Age",
    ]);
    expect(columns[0]).toEqual({ name: "Name", type: "string", format: "name", priority: 0 });
    expect(columns.find((column) => column.name === "Node")?.priority).toBe(1);
  });

  it("exist for everything that can be listed, with the name first", () => {
    for (const entry of resources().filter((entry) => entry.verbs.includes("list"))) {
      const first = entry.name === "events" ? "Last Seen" : "Name";
      expect(tableColumns(entry)[0]?.name, entry.name).toBe(first);
    }
  });
});

describe("field selectors", () => {
  it("are name and namespace, and more where the server allows it", () => {
    expect(fieldSelectors({ groupVersion: "apps/v1", name: "deployments" })).toEqual([
      "metadata.name",
      "metadata.namespace",
    ]);
    expect(fieldSelectors(pods)).toEqual(expect.arrayContaining(["spec.nodeName", "status.phase"]));
    expect(fieldSelectors({ groupVersion: "batch/v1", name: "jobs" })).toContain("status.successful");
    expect(fieldSelectors(resource("", "v1", "secrets") ?? pods)).toContain("type");
  });

  it("are refused in the resource's own words", () => {
    expect(fieldSelectorRefusal(pods, "spec.$&")).toBe("field label not supported: spec.$&");
    expect(fieldSelectorRefusal({ groupVersion: "apps/v1", name: "deployments" }, "a")).toBe(
      '"a" is not a known field selector: only "metadata.name", "metadata.namespace"',
    );
  });
});
