import { describe, expect, it } from "vitest";
import {
  definition,
  definitionName,
  definitionNames,
  groupVersions,
  resource,
  resources,
  type Schema,
} from "./index.ts";

describe("definitions", () => {
  it("carry types, list types and merge keys of a field", () => {
    const pod = definition("io.k8s.api.core.v1.PodSpec");
    expect(pod?.properties?.containers).toEqual({
      type: "array",
      items: { $ref: "io.k8s.api.core.v1.Container", default: {} },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      "x-kubernetes-patch-strategy": "merge",
      "x-kubernetes-patch-merge-key": "name",
    });
    expect(pod?.required).toEqual(["containers"]);
    expect(pod?.properties?.restartPolicy?.enum).toEqual(["Always", "Never", "OnFailure"]);
    expect(pod?.properties?.volumes?.["x-kubernetes-patch-strategy"]).toBe("merge,retainKeys");
  });

  it("keep what stands beside a reference", () => {
    expect(definition("io.k8s.api.apps.v1.DeploymentSpec")?.properties?.strategy).toEqual({
      $ref: "io.k8s.api.apps.v1.DeploymentStrategy",
      "x-kubernetes-patch-strategy": "retainKeys",
      default: {},
    });
  });

  it("mark the odd scalars", () => {
    expect(definition("io.k8s.apimachinery.pkg.api.resource.Quantity")).toEqual({ format: "quantity" });
    expect(
      definition("io.k8s.apimachinery.pkg.util.intstr.IntOrString")?.["x-kubernetes-int-or-string"],
    ).toBe(true);
    expect(definition("io.k8s.apimachinery.pkg.apis.meta.v1.Time")).toEqual({
      type: "string",
      format: "date-time",
    });
    expect(definition("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON")).toEqual({});
  });

  it("lead by every reference to a definition that exists", () => {
    const names = new Set(definitionNames());
    const missing: string[] = [];
    const visit = (schema: Schema): void => {
      if (schema.$ref !== undefined && !names.has(schema.$ref)) missing.push(schema.$ref);
      for (const field of Object.values(schema.properties ?? {})) visit(field);
      if (schema.items) visit(schema.items);
      if (schema.additionalProperties) visit(schema.additionalProperties);
    };
    for (const name of names) visit(definition(name) ?? {});
    expect(missing).toEqual([]);
    expect(names.size).toBeGreaterThan(500);
  });

  it("are frozen and shared", () => {
    const first = definition("io.k8s.api.apps.v1.Deployment");
    expect(definition("io.k8s.api.apps.v1.Deployment")).toBe(first);
    expect(Object.isFrozen(first) && Object.isFrozen(first?.properties)).toBe(true);
  });

  it("are found by kind, and not for kinds that are not served", () => {
    const deployment = { group: "apps", version: "v1", kind: "Deployment" };
    expect(definitionName(deployment)).toBe("io.k8s.api.apps.v1.Deployment");
    expect(definitionName({ ...deployment, version: "v1beta1" })).toBeUndefined();
    expect(definitionName({ group: "", version: "v1", kind: "Status" })).toBe(
      "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
    );
    expect(definitionName({ group: "batch", version: "v1", kind: "DeleteOptions" })).toMatch(
      /DeleteOptions$/,
    );
    expect(definition("io.example.v1.Nothing")).toBeUndefined();
  });
});

describe("resources", () => {
  it("begin with the core group and prefer the first version of a group", () => {
    expect(groupVersions()[0]?.groupVersion).toBe("v1");
    const autoscaling = groupVersions().filter((entry) => entry.group === "autoscaling");
    expect(autoscaling.map((entry) => [entry.version, entry.preferred])).toEqual([
      ["v2", true],
      ["v1", false],
    ]);
  });

  it("know verbs, names and subresources", () => {
    const deployments = resource("apps", "v1", "deployments");
    expect(deployments).toMatchObject({
      kind: "Deployment",
      namespaced: true,
      shortNames: ["deploy"],
      categories: ["all"],
    });
    expect(deployments?.verbs).toHaveLength(8);
    expect(
      deployments?.subresources.map((entry) => [entry.name, entry.group, entry.kind, entry.foreign]),
    ).toEqual([
      ["scale", "autoscaling", "Scale", true],
      ["status", "apps", "Deployment", false],
    ]);
  });

  it("say in which version an object is stored", () => {
    expect(resource("events.k8s.io", "v1", "events")?.storageVersion).toBe("v1");
    expect(resource("autoscaling", "v1", "horizontalpodautoscalers")?.storageVersion).toBe("autoscaling/v2");
    expect(resource("apps", "v1", "deployments")?.storageVersion).toBe("apps/v1");
  });

  it("have a definition for each kind", () => {
    const without = resources().filter((entry) => definition(entry.definition) === undefined);
    expect(without).toEqual([]);
  });
});
