import { expect, test } from "vitest";
import { type MembersView, planMembers } from "./members.ts";

const view = (change: Partial<MembersView>): MembersView => ({
  database: "db",
  wanted: 3,
  counted: ["db-0", "db-1", "db-2"],
  existing: ["db-0", "db-1", "db-2"],
  primary: "db-0",
  streaming: ["db-1", "db-2"],
  promised: ["db-0", "db-1", "db-2"],
  initialised: true,
  ...change,
});

test("all are members from the beginning", () => {
  const none = { counted: [], existing: [], promised: [], streaming: [], primary: undefined };
  expect(planMembers(view({ ...none, initialised: false }))).toMatchObject({
    keep: ["db-0", "db-1", "db-2"],
    count: ["db-0", "db-1", "db-2"],
  });
});

test("a new instance is made first, and counted on when it streams", () => {
  const grown = planMembers(view({ wanted: 4 }));
  expect(grown).toEqual({
    keep: ["db-0", "db-1", "db-2", "db-3"],
    count: ["db-0", "db-1", "db-2"],
    remove: [],
  });
  const streaming = ["db-1", "db-2", "db-3"];
  const existing = ["db-0", "db-1", "db-2", "db-3"];
  expect(planMembers(view({ wanted: 4, existing, streaming })).count).toEqual(existing);
});

test("an instance that goes is first not counted on, then removed when nothing is promised by it", () => {
  const first = planMembers(view({ wanted: 2 }));
  expect(first).toEqual({ keep: ["db-0", "db-1", "db-2"], count: ["db-0", "db-1"], remove: [] });
  const promised = planMembers(view({ wanted: 2, counted: ["db-0", "db-1"] }));
  expect(promised.remove).toEqual([]);
  const free = planMembers(view({ wanted: 2, counted: ["db-0", "db-1"], promised: ["db-0", "db-1"] }));
  expect(free.remove).toEqual(["db-2"]);
});

test("the primary stays, whatever its number", () => {
  expect(planMembers(view({ wanted: 1, primary: "db-2", streaming: [] })).count).toEqual(["db-2"]);
});
