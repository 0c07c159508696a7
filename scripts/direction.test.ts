/** The direction check itself: what it refuses, shown once each. */
import { expect, test } from "vitest";
import { cycleProblems, directionProblems, layerProblems, packageProblems } from "./direction.ts";
import type { Import } from "./imports.ts";

const relative = (file: string, target: string): Import => ({
  file,
  target,
  specifier: `./${target}`,
  typeOnly: false,
});
const named = (file: string, specifier: string): Import => ({
  file,
  specifier,
  target: undefined,
  typeOnly: false,
});

test("the repository keeps its own rules", () => {
  expect(directionProblems()).toEqual([]);
});

test("a package must not import one above it, enter itself by name, or leave itself by a path", () => {
  const file = "packages/client/src/a.ts";
  expect(packageProblems("client", named(file, "@keelson/runtime"))).toEqual([
    `${file}: client must not import @keelson/runtime`,
  ]);
  expect(packageProblems("client", named(file, "@keelson/client"))).toHaveLength(1);
  expect(packageProblems("client", relative(file, "packages/core/src/json.ts"))).toHaveLength(1);
  expect(packageProblems("client", named(file, "@keelson/core"))).toEqual([]);
});

test("core does no I/O", () => {
  expect(packageProblems("core", named("packages/core/src/a.ts", "node:fs"))).toHaveLength(1);
});

test("a layer must not import one above it", () => {
  const up = relative("packages/apiserver/src/storage/store.ts", "packages/apiserver/src/rest/list.ts");
  const down = relative("packages/apiserver/src/rest/list.ts", "packages/apiserver/src/storage/store.ts");
  expect(layerProblems("apiserver", [up, down])).toEqual([
    "packages/apiserver/src/storage/store.ts: storage is below rest and must not import packages/apiserver/src/rest/list.ts",
  ]);
});

test("files and folders must not import each other in a circle; entry files do not count", () => {
  const a = "packages/x/src/a/one.ts";
  const b = "packages/x/src/b/two.ts";
  expect(cycleProblems("x", [relative(a, b), relative(b, a)])).toEqual([
    `x: files import each other: ${a}, ${b}`,
    "x: folders import each other: packages/x/src/a, packages/x/src/b",
  ]);
  const entry = "packages/x/src/b/index.ts";
  expect(cycleProblems("x", [relative(a, entry), relative(b, "packages/x/src/a/other.ts")])).toEqual([]);
});
