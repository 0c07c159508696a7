import { expect, test } from "vitest";
import { DatabaseMemory } from "../observe/memory.ts";
import {
  factsFixture,
  ipOf,
  leadershipFixture,
  observedFixture,
  orphan,
  podFixture,
  podless,
} from "./fixture.ts";
import { leadership } from "./leadership.ts";

const stopped = { pod: podFixture(0, { stopped: true }), answer: { state: "refused", message: "" } } as const;

/** The primary has stopped and one replica of two is missing, after the spec was changed from one number to another. */
function lostWith(before: number, after: number) {
  return leadership(
    observedFixture({
      acknowledgements: after,
      servers: [stopped, orphan(1), podless],
      status: { leadership: leadershipFixture(2, { promise: before }) },
    }),
  );
}

test("writes that fewer replicas acknowledged before the spec asked for more are not given up", () => {
  expect(lostWith(2, 2).status?.promotion).toMatchObject({ server: "db-1" });
  expect(lostWith(1, 2).status?.promotion).toBeUndefined();
  expect(lostWith(1, 2).notReady?.message).toContain("db-2");
  expect(lostWith(1, 0).status?.promotion).toBeUndefined();
  expect(lostWith(2, 1).status?.promotion).toBeUndefined();
  expect(lostWith(0, 0).status?.promotion).toMatchObject({ server: "db-1" });
});

test("an easier promise is recorded when every replica has caught up, a harder one at once", () => {
  const recorded = (before: number, after: number, caughtUp: boolean) =>
    leadership(
      observedFixture({
        acknowledgements: after,
        status: { leadership: leadershipFixture(2, { promise: before }) },
        observed: { caughtUp },
      }),
    ).status?.leadership?.promise;
  expect(recorded(1, 2, false)).toBe(1);
  expect(recorded(1, 2, true)).toBe(2);
  expect(recorded(2, 1, false)).toBe(1);
  expect(recorded(1, 0, false)).toBe(1);
  expect(recorded(0, 1, false)).toBe(1);
});

test("replicas have caught up when each has what the primary had when the number was first asked for", () => {
  const memory = new DatabaseMemory();
  const primary = (offset: bigint, replicas: readonly bigint[], runId = "run-0") =>
    factsFixture(0, {
      ...{ role: "primary", runId, offset },
      replicas: replicas.map((its, index) => ({
        ...{ host: ipOf(index + 1), port: 6379, online: true, offset: its, lagSeconds: 0 },
      })),
    });
  const both = [ipOf(1), ipOf(2)];
  expect(memory.hasCaughtUp(2, both, primary(100n, [100n, 90n]))).toBe(false);
  expect(memory.hasCaughtUp(2, both, primary(200n, [190n, 100n]))).toBe(true);
  // A process that leads since, a follower that is away, another number: each is counted from then on.
  expect(memory.hasCaughtUp(2, both, primary(200n, [190n, 100n], "run-1"))).toBe(false);
  expect(memory.hasCaughtUp(2, [ipOf(1), undefined], primary(300n, [300n, 300n], "run-1"))).toBe(false);
  expect(memory.hasCaughtUp(1, both, primary(300n, [300n, 250n], "run-1"))).toBe(false);
  expect(memory.hasCaughtUp(1, both, undefined)).toBe(false);
});
