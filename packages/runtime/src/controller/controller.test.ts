import { ClusterRole, ConfigMap, Secret, Service } from "@keelson/core/kinds";
import { resource } from "@keelson/schema";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { operator } from "../operator/operator.ts";
import { controller, slotOrder } from "./controller.ts";
import { own } from "./declaration.ts";
import { done } from "./outcome.ts";

const App = resource({ group: "example.com", kind: "App", version: "v1", spec: z.object({}) });
const reconcile = async () => done();

describe("a declaration that cannot work is refused when it is made", () => {
  test("a controller that owns its own kind", () => {
    expect(() => controller(App, { owns: { peers: App }, reconcile })).toThrow(
      'controller of App.example.com cannot own its own kind (slot "peers")',
    );
  });

  test("a namespaced owner of something cluster-scoped", () => {
    expect(() => controller(App, { owns: { role: ClusterRole }, reconcile })).toThrow("outlives: true");
    expect(() =>
      controller(App, { owns: { role: own(ClusterRole, { outlives: true }) }, reconcile }),
    ).not.toThrow();
  });

  test("slots that wait for each other, or for one that is not there", () => {
    expect(() =>
      controller(App, {
        owns: { a: own(ConfigMap, { after: "b" }), b: own(Secret, { after: "a" }) },
        reconcile,
      }),
    ).toThrow("slots wait for each other in a circle: a → b → a");
    expect(() => controller(App, { owns: { a: own(ConfigMap, { after: "z" }) }, reconcile })).toThrow(
      'slot "a" comes after "z", which is not a slot; there are: a',
    );
  });

  test("a name that cannot be a label", () => {
    expect(() => controller(App, { name: "my app", reconcile })).toThrow("must be a label value");
  });

  test("two controllers of one name", () => {
    const one = controller(App, { reconcile });
    expect(() => operator({ controllers: [one, one] })).toThrow('two controllers are named "app"');
  });
});

test("slots come behind those they wait for, and otherwise as declared", () => {
  const { owns } = controller(App, {
    owns: { a: own(ConfigMap, { after: ["c", "b"] }), b: Secret, c: Service },
    reconcile,
  });
  expect(slotOrder(owns)).toEqual(["c", "b", "a"]);
});
