import { expect, test } from "vitest";
import type { JobView, Observed } from "../observe/observed.ts";
import { nowMs, observedFixture } from "./fixture.ts";
import { initialize } from "./initialize.ts";
import { restore } from "./restore.ts";

const wanted = (jobs: readonly JobView[], more: Partial<Observed> = {}) =>
  initialize(observedFixture({ observed: { initHash: "h2", jobs, ...more } }));

test("a configuration is applied by a Job, and the Jobs of earlier ones go", () => {
  expect(wanted([]).actions).toEqual([{ do: "startInit", hash: "h2" }]);
  expect(wanted([{ key: "init-h2", state: "running", message: "" }]).actions).toBeUndefined();
  const jobs: JobView[] = [
    { key: "init-h1", state: "succeeded", message: "" },
    { key: "init-h2", state: "succeeded", message: "" },
    { key: "rehearse-8-0-2", state: "succeeded", message: "" },
  ];
  const done = wanted(jobs, { schemaVersion: 4 });
  expect(done.status).toMatchObject({ initialized: "h2", schemaVersion: 4 });
  expect(done.actions).toEqual([{ do: "deleteJobs", keys: ["init-h1"] }]);
  expect(wanted(jobs)).toMatchObject({ notReady: { state: "waiting" } });
  expect(wanted(jobs).status).toBeUndefined();
});

test("a migration that waits for a newer Redis is named, and so are those that wait for it", () => {
  const migrations = [
    { version: 3, name: "c", script: "" },
    { version: 2, name: "b", since: "8.0", script: "" },
    { version: 1, name: "a", script: "" },
  ];
  const jobs = [{ key: "init-h2", state: "succeeded" as const, message: "" }];
  const observed = { initHash: "h2", jobs, schemaVersion: 1 };
  const { events } = initialize(observedFixture({ spec: { migrations }, observed }));
  expect(events?.[0]?.message).toContain("migration 2 waits for Redis 8.0, and with it 3");
});

test("a configuration that failed is tried again after a while", () => {
  const failed = (ago: number) =>
    wanted([{ key: "init-h2", state: "failed", message: "no", failedMs: nowMs - ago }]);
  expect(failed(60_000).actions).toBeUndefined();
  expect(failed(60_000).notReady).toMatchObject({ state: "failed" });
  expect(failed(300_000).actions).toEqual([{ do: "deleteJobs", keys: ["init-h2"] }]);
});

test("restored data is initialized again: it may be older than the last migration", () => {
  const plan = restore(
    observedFixture({
      status: { restore: { id: "r1-2", wish: "r1", phase: "Starting", server: "db-0" } },
      observed: {
        restore: { id: "r1", keys: 1, source: { aside: "aside-x" } },
        jobs: [{ key: "init-h1", state: "succeeded", message: "" }],
      },
    }),
  );
  expect(plan.status).toMatchObject({ restore: { phase: "Done" }, initialized: undefined });
  expect(plan.actions).toEqual([{ do: "deleteJobs", keys: ["init-h1"] }]);
});
