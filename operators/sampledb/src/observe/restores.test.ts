import { describe, expect, test } from "vitest";
import type { SampleDBObject, Status } from "../api/sampledb.ts";
import { observedFixture } from "../decide/fixture.ts";
import { leadership } from "../decide/leadership.ts";
import { restoreId, wishId, withKnownRestore, withUnfinishedRestore } from "./restores.ts";
import { serversToRun } from "./servers-to-run.ts";

const restoreFrom = { backup: "b", allowUnverified: false, request: "" };
const wish = wishId(restoreFrom);
const db = (spec: object = { restoreFrom }) =>
  ({ metadata: { namespace: "shop", name: "db" }, spec }) as unknown as SampleDBObject;
const claim = (restored?: string, more: object = {}) => ({
  ...{ epoch: 3, deleting: false, restored },
  ...more,
});
const known = (claims: readonly ReturnType<typeof claim>[], status: Status = {}, object = db()) =>
  withKnownRestore(object, status, new Map(claims.entries())).restore;

describe("a status that was lost", () => {
  test("does not lead to the same restore again", () => {
    expect(known([claim(), claim(restoreId(wish, undefined))])).toEqual({
      ...{ id: `${wish}-0`, wish, phase: "Starting", server: "db-1" },
    });
    const spec = { restoreFrom };
    const restore = known([claim(`${wish}-2`)]);
    expect(restore?.aside).toBe(`aside-${wish}-2`);
    const status = { primary: undefined, leadership: undefined, epoch: undefined, restore };
    expect(serversToRun(observedFixture({ spec, status }))).toBe(3);
  });
  test("does not lead to one that was carried out before another", () => {
    const claims = new Map([claim("old-1", { epoch: 2 }), claim(`other-2 ${wish}-1`)].entries());
    expect(withKnownRestore(db(), {}, claims)).toEqual({ restores: ["other-2", `${wish}-1`] });
    expect(withKnownRestore(db(), { restores: [] }, claims)).toEqual({ restores: [] });
  });
  test("knows what an earlier release wrote", () => expect(known([claim(wish)])?.id).toBe(wish));

  test.each([
    ["that was never carried out", [claim()]],
    ["of another wish", [claim("other-0")]],
    ["whose volume was found empty since", [claim(`${wish}-0`, { epoch: 0 })]],
    ["whose volume goes", [claim(`${wish}-0`, { deleting: true })]],
  ])("leads to a restore %s", (_which, claims) => expect(known(claims)).toBeUndefined());
});

test("a status that has a restore is believed, and a spec without one needs none", () => {
  const other = { id: "x-1", wish: "x", phase: "Done" as const, server: "db-0" };
  expect(known([claim(`${wish}-0`)], { restore: other })).toEqual(other);
  expect(known([claim(`${wish}-0`)], {}, db({}))).toBeUndefined();
});

describe("a restore that the status does not know", () => {
  const database = { namespace: "shop", name: "db", uid: "uid" };
  type Job = Parameters<typeof withUnfinishedRestore>[2]["jobs"][number];
  const job = (id: string, state: Job["state"]): Job => ({ id, state, server: "db-0" });
  const unfinished = (jobs: readonly Job[], mark = claim(), status: Status = {}) =>
    withUnfinishedRestore(database, status, { jobs, claims: new Map([[0, mark]]) });
  const filling = (id: string) => ({ id, wish: id.split("-")[0], phase: "Filling", server: "db-0" });

  test("is under way while its Job runs, and nobody leads", () => {
    const status: Status = { primary: "db-0", replicas: 1 };
    expect(unfinished([job("r1-3", "running")], claim(), status)).toEqual({
      replicas: 1,
      restore: filling("r1-3"),
    });
  });
  test("is under way when its Job has ended, and nobody marked the volume", () =>
    expect(unfinished([job("r1-3", "succeeded")]).restore).toEqual(filling("r1-3")));
  test("is under way after one that is done", () => {
    const restore = { id: "r1-1", wish: "r1", phase: "Done" as const, server: "db-0" };
    const jobs = [job("r1-1", "succeeded"), job("r2-3", "running")];
    expect(unfinished(jobs, claim("r1-1"), { restore }).restore).toEqual(filling("r2-3"));
  });
  test.each([
    ["that failed", [job("r1-3", "failed")], claim()],
    ["whose volume is marked", [job("r1-2", "succeeded")], claim("r1-2")],
    ["after which another one led", [job("r1-2", "succeeded")], claim("r2-2", { epoch: 4 })],
  ] as const)("is over %s", (_which, jobs, mark) => expect(unfinished(jobs, mark).restore).toBeUndefined());
});

test("while nobody knows who led, every volume with data gets a server", () => {
  const volume = (epoch: number | undefined, more: object = {}) => ({
    ...{ epoch, deleting: false, lost: false },
    ...more,
  });
  const claims = new Map([
    [3, volume(2)],
    [4, volume(0)],
    [5, volume(2, { deleting: true })],
    [6, volume(2, { lost: true })],
  ]);
  const unknown = { primary: undefined, leadership: undefined, epoch: undefined };
  expect(serversToRun(observedFixture({ replicas: 1, status: unknown }), claims)).toBe(4);
  expect(serversToRun(observedFixture({ replicas: 1 }), claims)).toBe(2);
});

test("each volume with the data says where it came from", () => {
  const restore = { id: "r1-0", wish: "r1", phase: "Done" as const, server: "db-0" };
  const { actions } = leadership(observedFixture({ status: { restore } }));
  expect(actions?.filter((action) => action.do === "markClaim")).toMatchObject([
    { do: "markClaim", server: "db-0", epoch: 3, primaryEpoch: 3, restored: "r1-0" },
    { do: "markClaim", server: "db-1", epoch: 3, restored: "r1-0" },
    { do: "markClaim", server: "db-2", epoch: 3, restored: "r1-0" },
  ]);
});
