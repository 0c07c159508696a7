import { expect, test } from "vitest";
import { observedFixture } from "../decide/fixture.ts";
import { initialization, waitingMigrations } from "./initialization.ts";

const migrations = [
  { version: 4, name: "d", since: "7.0", script: "4" },
  { version: 2, name: "b", since: "8.0", script: "2" },
  { version: 3, name: "c", script: "3" },
  { version: 1, name: "a", script: "1" },
];
const { spec } = observedFixture({ spec: { migrations } });
const run = (version: string) => initialization(spec, version, []).migrations.map((each) => each.version);

test("a migration for a newer Redis holds up those after it, until an upgrade runs all of them in order", () => {
  expect(run("7.0")).toEqual([1]);
  expect(run("8.0")).toEqual([1, 2, 3, 4]);
});

test("the migration that waits is named", () => {
  expect(waitingMigrations(spec, "7.2")).toEqual({ since: "8.0", version: 2, behind: [3, 4] });
  expect(waitingMigrations(spec, "8.0")).toBeUndefined();
});
