import { expect, test } from "vitest";
import { annotations } from "../api/names.ts";
import { observedFixture } from "../decide/fixture.ts";
import { refusedSetting, specToRun } from "./settings-to-run.ts";

interface Given {
  readonly set?: Record<string, string>;
  readonly conf?: string;
  readonly epoch?: string;
  readonly marked?: string;
  readonly restored?: string;
  readonly primaryEpoch?: string;
}

/** What exists: the template that pods were made from, the file that they read, and a claim. */
function own({
  set,
  conf,
  epoch = "1",
  marked,
  restored,
  primaryEpoch,
}: Given): Parameters<typeof refusedSetting>[1] {
  const notes = { [annotations.restartSettings]: JSON.stringify(set) };
  const claim = {
    metadata: {
      annotations: {
        [annotations.epoch]: epoch,
        ...(marked && { [annotations.databases]: marked }),
        ...(restored && { [annotations.restored]: restored }),
        ...(primaryEpoch && { [annotations.primaryEpoch]: primaryEpoch }),
      },
    },
  };
  return {
    set: { get: () => set && { spec: { template: { metadata: { annotations: notes } } } } },
    config: { get: () => (conf === undefined ? undefined : { data: { "redis.conf": conf } }) },
    claims: { entries: () => new Map([["0", claim]]) },
  } as never;
}

const asks = (settings: Record<string, string>) => observedFixture({ spec: { settings } }) as never;
const asksWithoutStatus = (settings: Record<string, string>) =>
  ({ ...observedFixture({ spec: { settings } }), status: undefined }) as never;

test.each<[string, Record<string, string>, Given, boolean]>([
  ["fewer than servers run with", { databases: "4" }, { set: {} }, true],
  ["none, which is fewer", {}, { set: { databases: "20" } }, true],
  ["fewer, when the StatefulSet was deleted", {}, { conf: "port 6379\ndatabases 20\n" }, true],
  ["as many", { databases: "20" }, { set: { databases: "20" }, conf: "databases 20\n" }, false],
  ["more", { databases: "99999" }, { set: { databases: "20" } }, false],
  ["fewer, before there is data", { databases: "4" }, { set: {}, epoch: "0" }, false],
  ["fewer, before there is a server", { databases: "4" }, {}, false],
  ["fewer than its volumes have data in, when it is made again", { databases: "4" }, { marked: "20" }, true],
  [
    "fewer than no server starts with, when it is made again",
    {},
    { set: { databases: "99999" }, marked: "16" },
    false,
  ],
  [
    "fewer than no server starts with, when a restore has filled its volume",
    {},
    { set: { databases: "99999" }, conf: "databases 99999\n", restored: "r-0" },
    false,
  ],
  ["fewer than servers led with after a restore", {}, { marked: "20", restored: "r-0" }, true],
])("databases: %s", (_, settings, given, refused) => {
  const problem = refusedSetting(asksWithoutStatus(settings), own(given));
  expect(problem !== undefined).toBe(refused);
  if (refused) expect(problem).toMatch(/use a number not below (16|20) in spec.settings, or move the data/);
});

test.each<[string, string, object, boolean]>([
  ["since the primary leads", "3", {}, false],
  ["by an earlier primary", "2", {}, true],
  ["and another may lead already", "3", { handover: { from: "db-0", to: "db-1", why: "" } }, true],
])(
  "databases that no server started with do not count once volumes are marked: %s",
  (_, primaryEpoch, status, refused) => {
    const given = { conf: "databases 99999\n", epoch: "3", marked: "16", primaryEpoch };
    const db = observedFixture({ spec: { settings: {} }, status }) as never;
    expect(refusedSetting(db, own(given)) !== undefined).toBe(refused);
  },
);

test("pods are made with the settings that they have while others are refused", () => {
  const set = { databases: "20" };
  expect(specToRun(asks({ databases: "4", timeout: "1" }), own({ set })).settings).toEqual(set);
  expect(specToRun(asks({ databases: "21", port: "1" }), own({ set })).settings).toEqual(set);
  expect(specToRun(asks({ databases: "21" }), own({ set })).settings).toEqual({ databases: "21" });
});
