import { dynamicKind } from "@keelson/core";
import { ConfigMap, Deployment, Pod, Secret, Service } from "@keelson/core/kinds";
import { resource } from "@keelson/schema";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { controller } from "../controller/controller.ts";
import { allow, allowSubresource, many, own, ref, retired } from "../controller/declaration.ts";
import { done } from "../controller/outcome.ts";
import { PermissionCheck } from "../controller/permissions.ts";
import { rawController, watch } from "../controller/raw-controller.ts";
import { roleFor } from "./role.ts";

const App = resource({ group: "example.com", kind: "App", version: "v1", spec: z.object({}) });

describe("the role of controllers", () => {
  test("is exactly the declaration and what the runtime itself does", () => {
    const app = controller(App, {
      owns: { deployment: Deployment, service: Service, pods: many(Pod), old: retired(ConfigMap) },
      reads: { secret: ref(Secret, () => undefined) },
      writes: [allow(Secret, ["patch"], { names: ["tls"] }), allowSubresource(Pod, "eviction", ["create"])],
      reconcile: async () => done(),
      finalize: async () => done(),
    });
    expect(roleFor([app], { lease: "app" })).toEqual([
      {
        apiGroups: [""],
        resources: ["configmaps"],
        verbs: ["get", "list", "watch", "delete"],
      },
      {
        apiGroups: [""],
        resources: ["pods", "services"],
        verbs: ["get", "list", "watch", "create", "patch", "delete"],
      },
      { apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"] },
      { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch"] },
      { apiGroups: [""], resources: ["secrets"], verbs: ["patch"], resourceNames: ["tls"] },
      {
        apiGroups: ["apps"],
        resources: ["deployments"],
        verbs: ["get", "list", "watch", "create", "patch", "delete"],
      },
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"] },
      {
        apiGroups: ["coordination.k8s.io"],
        resources: ["leases"],
        verbs: ["get", "list", "watch", "update"],
        resourceNames: ["app"],
      },
      { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
      { apiGroups: ["example.com"], resources: ["apps"], verbs: ["get", "list", "watch", "patch"] },
      { apiGroups: ["example.com"], resources: ["apps/finalizers"], verbs: ["update"] },
      { apiGroups: ["example.com"], resources: ["apps/status"], verbs: ["patch"] },
    ]);
  });

  test("has no more than it needs: no patch without finalize, no finalizers without owner references", () => {
    const app = controller(App, {
      owns: { config: own(ConfigMap, { outlives: true }) },
      compose: () => ({ children: {} }),
    });
    const rules = roleFor([app], { events: false });
    expect(rules).toEqual([
      {
        apiGroups: [""],
        resources: ["configmaps"],
        verbs: ["get", "list", "watch", "create", "patch", "delete"],
      },
      { apiGroups: ["example.com"], resources: ["apps"], verbs: ["get", "list", "watch"] },
      { apiGroups: ["example.com"], resources: ["apps/status"], verbs: ["patch"] },
    ]);
  });

  test("never holds a wildcard, and merges controllers", () => {
    const raw = rawController({
      name: "raw",
      watches: { pods: watch(Pod), configs: watch(ConfigMap) },
      writes: [allow(Pod, ["delete"])],
      reconcile: async () => {},
    });
    const rules = roleFor([raw], { events: false });
    expect(rules).toEqual([
      { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] },
      { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch", "delete"] },
    ]);
    expect(JSON.stringify(rules)).not.toContain("*");
  });
});

describe("the check at run time", () => {
  const app = controller(App, {
    owns: { pods: many(Pod) },
    writes: [allow(Secret, ["patch"], { names: ["tls"] })],
    reconcile: async () => done(),
    finalize: async () => done(),
  });
  const check = new PermissionCheck(app);

  test("lets through what is declared", () => {
    expect(() => check.require("delete", Pod, undefined, "a")).not.toThrow();
    expect(() => check.require("patch", Secret, undefined, "tls")).not.toThrow();
  });

  test("names the declaration that is missing", () => {
    expect(() => check.require("update", Pod, undefined, "a")).toThrow(
      'controller "app" does not declare "update" on Pod; add allow(Pod, ["update"]) to its writes',
    );
    expect(() => check.require("create", Pod, "eviction", "a")).toThrow(
      'add allowSubresource(Pod, "eviction", ["create"]) to its writes',
    );
    expect(() => check.require("patch", Secret, undefined, "other")).toThrow("only by these names: tls");
  });

  test("does not lend what only the runtime may do", () => {
    expect(() => check.require("patch", App, undefined, "a")).toThrow("does not declare");
    expect(() => check.require("patch", App, "status", "a")).toThrow("does not declare");
  });

  test("tells kinds of the same name apart by group", () => {
    const other = dynamicKind({
      group: "x.io",
      version: "v1",
      kind: "Pod",
      resource: "pods",
      scope: "Namespaced",
    });
    expect(() => check.require("get", other, undefined, "a")).toThrow('"get" on Pod.x.io');
  });
});
