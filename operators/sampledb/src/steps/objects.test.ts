import { expect, test } from "vitest";
import { SampleDB, type SampleDBObject } from "../api/sampledb.ts";
import { volumePlans } from "./objects.ts";

function database(replicas: number, upgrade: object): SampleDBObject {
  const { spec } = SampleDB.object({ metadata: { name: "db" }, spec: { version: "8.0", replicas } });
  const status = { primary: "db-0", upgrade: { from: "7.0", to: "8.0", id: "x", ...upgrade } };
  return { metadata: { name: "db", namespace: "default", uid: "u" }, spec, status } as never;
}

const actions = (db: SampleDBObject) =>
  Object.fromEntries([...volumePlans(db)].map(([server, { action }]) => [server, action]));

test("a server without replicas copies its volume before it starts with the new version, and puts it back", () => {
  expect(actions(database(0, { phase: "Switching" }))).toEqual({ "db-0": "copy" });
  expect(actions(database(0, { phase: "GoingBack" }))).toEqual({ "db-0": "back" });
});

test("replicas of the new version start empty when an upgrade goes back, also when it had not switched yet", () => {
  expect(actions(database(1, { phase: "GoingBack", held: "db-1" }))).toEqual({
    "db-0": "empty",
    "db-1": "back",
  });
  expect(actions(database(2, { phase: "GoingBack" }))).toEqual({
    "db-0": "back",
    "db-1": "empty",
    "db-2": "empty",
  });
  expect(actions(database(2, { phase: "Replicas" }))).toEqual({});
});
