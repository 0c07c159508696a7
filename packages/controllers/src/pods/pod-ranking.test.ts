import fc from "fast-check";
import { expect, test } from "vitest";
import { pod, start } from "../../test/builders.ts";
import { compareForDeletion, podsToDelete } from "./pod-ranking.ts";

const first = (...pods: ReturnType<typeof pod>[]) =>
  podsToDelete(pods, pods, 1, start + 1000_000).map(({ metadata }) => metadata.name);

test("a pod without a node goes before one that has one", () => {
  expect(first(pod({ name: "placed", node: "n", ready: true }), pod({ name: "waiting" }))).toEqual([
    "waiting",
  ]);
});

test("a pod that is not ready goes before one that is", () => {
  const sick = pod({ name: "sick", node: "n", phase: "Running" });
  expect(first(pod({ name: "well", node: "n", ready: true }), sick)).toEqual(["sick"]);
});

test("the cheaper pod goes first, where a price is given", () => {
  const cost = (name: string, value: string) =>
    pod({
      name,
      node: "n",
      ready: true,
      annotations: { "controller.kubernetes.io/pod-deletion-cost": value },
    });
  expect(first(cost("dear", "10"), cost("cheap", "-5"))).toEqual(["cheap"]);
});

test("of two nodes the fuller one loses a pod", () => {
  const on = (name: string, node: string) => pod({ name, node, ready: true });
  expect(first(on("a", "alone"), on("b", "full"), on("c", "full"))[0]).not.toBe("a");
});

test("the pod that restarted more often goes first", () => {
  const restarted = (name: string, restarts: number) => pod({ name, node: "n", ready: true, restarts });
  expect(first(restarted("steady", 0), restarted("shaky", 4))).toEqual(["shaky"]);
});

test("the younger magnitude of age goes first", () => {
  const ready = (name: string, readyAt: number) => pod({ name, node: "n", ready: true, readyAt });
  expect(first(ready("old", 0), ready("young", 999))).toEqual(["young"]);
});

test("the order is one: no two pods each go before the other", () => {
  const any = fc
    .record({
      node: fc.constantFrom(undefined, "a", "b"),
      ready: fc.boolean(),
      readyAt: fc.integer({ min: 0, max: 900 }),
      restarts: fc.integer({ min: 0, max: 3 }),
      createdAt: fc.integer({ min: 0, max: 900 }),
    })
    .map(({ node, ...rest }) => pod({ ...rest, ...(node ? { node } : {}) }));
  fc.assert(
    fc.property(any, any, (a, b) => {
      const compare = (x: typeof a, y: typeof a) =>
        Math.sign(compareForDeletion(x, y, () => 0, start + 1000_000));
      expect(compare(a, b) + compare(b, a)).toBe(0);
    }),
  );
});
