import { expect, test } from "vitest";
import { deployment } from "../../test/builders.ts";
import { newSetAnnotations, revisionOf, sizeAnnotations } from "./annotations.ts";

const revision = "deployment.kubernetes.io/revision";
const history = "deployment.kubernetes.io/revision-history";

test("a set gets the deployment's annotations, without those that are its own affair", () => {
  const d = deployment({
    annotations: { note: "a", [revision]: "3", "kubectl.kubernetes.io/last-applied-configuration": "{}" },
  });
  expect(newSetAnnotations(d, undefined, 4)).toEqual({ note: "a", [revision]: "4" });
});

test("a set that comes back remembers the revisions it had", () => {
  const d = deployment();
  const once = newSetAnnotations(d, { [revision]: "1" }, 3);
  expect(once).toEqual({ [revision]: "3", [history]: "1" });
  expect(newSetAnnotations(d, once, 5)).toEqual({ [revision]: "5", [history]: "1,3" });
});

test("a revision never goes down", () => {
  expect(newSetAnnotations(deployment(), { [revision]: "7" }, 3)).toEqual({ [revision]: "7" });
});

test("a history that grows too long forgets its beginning", () => {
  const long = Array.from({ length: 400 }, (_, index) => 1000 + index).join(",");
  const next = newSetAnnotations(deployment(), { [revision]: "1400", [history]: long }, 1401)[history] ?? "";
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
  expect(revisionOf({ metadata: { annotations: { [revision]: "x" } } })).toBe(0);
});
