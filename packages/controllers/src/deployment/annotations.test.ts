import { expect, test } from "vitest";
import { deployment } from "../../test/builders.ts";
import { maxRevision, newSetAnnotations, revisionOf, sizeAnnotations } from "./annotations.ts";

const revision = "deployment.kubernetes.io/revision";
const history = "deployment.kubernetes.io/revision-history";

test("a set gets the deployment's annotations, without those that are its own affair", () => {
  const d = deployment({
    annotations: { note: "a", [revision]: "3", "kubectl.kubernetes.io/last-applied-configuration": "{}" },
  });
  expect(newSetAnnotations(d, undefined, 4n)).toEqual({ note: "a", [revision]: "4" });
});

test("a set that comes back remembers the revisions it had", () => {
  const d = deployment();
  const once = newSetAnnotations(d, { [revision]: "1" }, 3n);
  expect(once).toEqual({ [revision]: "3", [history]: "1" });
  expect(newSetAnnotations(d, once, 5n)).toEqual({ [revision]: "5", [history]: "1,3" });
});

test("a revision never goes down", () => {
  expect(newSetAnnotations(deployment(), { [revision]: "7" }, 3n)).toEqual({ [revision]: "7" });
});

test("a history that grows too long forgets its beginning", () => {
  const long = Array.from({ length: 400 }, (_, index) => 1000 + index).join(",");
  const next = newSetAnnotations(deployment(), { [revision]: "1400", [history]: long }, 1401n)[history] ?? "";
  expect(next.length).toBeLessThanOrEqual(2000);
  expect(next.endsWith(",1400")).toBe(true);
});

test("sizes are written with the surge", () => {
  expect(sizeAnnotations(deployment({ spec: { replicas: 3 } }))).toEqual({
    "deployment.kubernetes.io/desired-replicas": "3",
    "deployment.kubernetes.io/max-replicas": "4",
  });
});

test("what is no number is no revision", () => {
  expect(revisionOf({ metadata: { annotations: { [revision]: "x" } } })).toBe(0n);
});

test("a revision has 64 bits", () => {
  const set = { metadata: { annotations: { [revision]: "3546343826724305832" } } };
  expect(newSetAnnotations(deployment(), undefined, maxRevision([set]) + 1n)).toEqual({
    [revision]: "3546343826724305833",
  });
  expect(revisionOf({ metadata: { annotations: { [revision]: "9223372036854775808" } } })).toBe(0n);
});
