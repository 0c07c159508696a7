/** Which definitions a program runs, from a variable. */
import { expect, test } from "vitest";
import { definitionHosts, definitionKinds, families, parseFamilies } from "./families.ts";

test("nothing means all, and a list means those in it", () => {
  expect(parseFamilies(undefined)).toEqual(families);
  expect(parseFamilies("")).toEqual(families);
  expect(parseFamilies("plans, graphs")).toEqual(["graphs", "plans"]);
  expect(() => parseFamilies("graph")).toThrow(
    "there are no definitions named graph; there are graphs, hooks, plans",
  );
});

test("only what runs is watched", () => {
  expect(definitionHosts(["hooks"]).map(({ name }) => name)).toEqual([
    "compositecontroller",
    "decoratorcontroller",
  ]);
  expect(definitionKinds(["graphs", "plans"]).map(({ kind }) => kind)).toEqual([
    "ResourceGraphDefinition",
    "PlanDefinition",
  ]);
});
