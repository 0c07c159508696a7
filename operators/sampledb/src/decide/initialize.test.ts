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
  const done = wanted([
    { key: "init-h1", state: "succeeded", message: "" },
    { key: "init-h2", state: "succeeded", message: "" },
    { key: "rehearse-8-0-2", state: "succeeded", message: "" },
  ]);
  expect(done.status).toMatchObject({ initialized: "h2" });
  expect(done.actions).toEqual([{ do: "deleteJobs", keys: ["init-h1"] }]);
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
