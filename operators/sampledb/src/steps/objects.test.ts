import { expect, test } from "vitest";
import { SampleDB, type SampleDBObject } from "../api/sampledb.ts";
import { volumePlans } from "./objects.ts";

function database(replicas: number, upgrade: object): SampleDBObject {
  const { spec } = SampleDB.object({ metadata: { name: "db" }, spec: { version: "8.0", replicas } });
  const status = { primary: "db-0", upgrade: { from: "7.0", to: "8.0", id: "x", ...upgrade } };
  return { metadata: { name: "db", namespace: "default", uid: "u" }, spec, status } as never;
}

const emptied = (db: SampleDBObject) => [...volumePlans(db).keys()];

test("all but the old primary put what a newer version wrote aside when an upgrade goes back", () => {
  expect(emptied(database(1, { phase: "GoingBack", held: "db-1" }))).toEqual(["db-0"]);
  expect(emptied(database(2, { phase: "GoingBack" }))).toEqual(["db-1", "db-2"]);
  expect(emptied(database(0, { phase: "GoingBack", held: "db-0" }))).toEqual([]);
  expect(emptied(database(2, { phase: "Replicas" }))).toEqual([]);
});
