import { expect, test } from "vitest";
import type { Observed } from "../observe/observed.ts";
import { observedFixture, podFixture, restarted } from "./fixture.ts";
import { leadership } from "./leadership.ts";
import { lockedOut, repair, wiped } from "./repair.ts";

/** Servers with these ordinals do not start, and say so. */
function damaged(ordinals: readonly number[], obstacle: string): Observed {
  const o = observedFixture();
  const servers = o.servers.map((server) =>
    ordinals.includes(server.ordinal)
      ? { ...server, answer: undefined, pod: server.pod && { ...server.pod, obstacle } }
      : server,
  );
  return { ...o, servers };
}

const words = "CrashLoopBackOff: Bad file format reading the append only file appendonly.aof.1.incr.aof";

test("a replica with damaged files gets an empty volume", () => {
  expect(repair(damaged([1], words)).actions).toMatchObject([
    { do: "deleteClaim", server: "db-1" },
    { do: "deletePod", server: "db-1" },
  ]);
});

test("so it does during an upgrade, but not while writes have ended, and never the way back", () => {
  const during = (phase: string, more: object = {}) => {
    const upgrade = {
      from: "7.0",
      to: "8.0",
      id: "8-0-2",
      phase,
      pointOfNoReturn: false,
      since: "",
      ...more,
    };
    const o = damaged([1], words);
    return repair({ ...o, status: { ...o.status, upgrade: upgrade as never } }).actions?.length ?? 0;
  };
  expect(["BackingUp", "Rehearsing", "Replicas", "Finishing"].map((phase) => during(phase))).toEqual([
    2, 2, 2, 2,
  ]);
  expect(["Switching", "Verifying"].map((phase) => during(phase))).toEqual([0, 0]);
  const candidate = { server: "db-2", runId: "run-2" };
  expect([during("GoingBack", { candidate }), during("GoingBack")]).toEqual([0, 2]);
  expect(during("Replicas", { held: "db-1" })).toBe(0);
  expect(during("Finishing", { held: "db-1", pointOfNoReturn: true })).toBe(2);
});

test("a replica that fails for another reason keeps its volume", () => {
  expect(repair(damaged([1], "ImagePullBackOff"))).toEqual({});
});

test("what an upgrade was to go back to is given up when another server leads at the end of the way back", () => {
  const since = new Date(0).toISOString();
  const under = { from: "7.0", to: "8.0", id: "u", pointOfNoReturn: false, held: "db-1", since };
  const upgrade = (phase: "Replicas" | "GoingBack", candidate?: { server: string; runId: string }) => {
    const o = damaged([1], words);
    return repair({
      ...o,
      status: { ...o.status, upgrade: { ...under, phase, ...(candidate && { candidate }) } },
    });
  };
  expect(upgrade("GoingBack").actions).toMatchObject([
    { do: "deleteClaim", server: "db-1" },
    { do: "deletePod" },
  ]);
  expect(upgrade("Replicas")).toEqual({});
  expect(upgrade("GoingBack", { server: "db-2", runId: "run-2" })).toEqual({});
});

test("nothing is given up while no primary leads", () => {
  expect(repair(damaged([0, 1], words))).toEqual({});
});

test("a volume that was wiped is found empty by any process that starts on it", () => {
  const second = (facts: object) => observedFixture({ replicas: 0, servers: [restarted(0, { facts })] });
  expect(wiped(second({ keys: 0, volume: "another" })).actions).toEqual([
    { do: "markClaim", server: "db-0", epoch: 0, primaryEpoch: 0 },
  ]);
  expect(wiped(second({ keys: 0 })).actions).toEqual([]);
  // Nobody had given it an identity, as earlier releases did not.
  expect(wiped(second({ keys: 0, volume: undefined })).actions).toEqual([]);
});

test("a volume that was found empty is not taken for one with data when its server starts again", () => {
  const found = observedFixture({ replicas: 0, servers: [restarted(0, { empty: true })] });
  expect(wiped(found).actions).toEqual([{ do: "markClaim", server: "db-0", epoch: 0, primaryEpoch: 0 }]);
  const [first] = observedFixture({ replicas: 0 }).servers;
  const claim = first?.claim && { ...first.claim, epoch: 0, primaryEpoch: 0 };
  const again = observedFixture({ replicas: 0, servers: [{ ...restarted(0), claim }] });
  expect(wiped(again).actions).toEqual([]);
  const plan = leadership(again);
  expect(plan.status?.promotion).toBeUndefined();
  expect(plan.notReady?.message).toContain("no server has data");
  const unknown = observedFixture({
    replicas: 0,
    servers: [{ ...restarted(0), claim }],
    status: { primary: undefined, epoch: undefined, leadership: undefined },
  });
  expect(leadership(unknown).status?.promotion).toBeUndefined();
});

test("a replica that refuses the operator's password starts again, one at a time, while a primary leads", () => {
  const denied = { answer: { state: "denied", message: "WRONGPASS" }, silentMs: 6_000 } as const;
  const both = observedFixture({ servers: [undefined, denied, denied] });
  expect(lockedOut(both).actions).toMatchObject([{ do: "deletePod", server: "db-1", uid: "pod-1" }]);
  const busy = observedFixture({
    servers: [undefined, { ...denied, pod: podFixture(1, { deleting: true }) }, denied],
  });
  expect(lockedOut(busy).actions).toEqual([]);
  expect(lockedOut(observedFixture({ servers: [undefined, { ...denied, silentMs: 1_000 }] }))).toEqual({});
  expect(lockedOut(observedFixture({ servers: [denied, denied, denied] }))).toEqual({});
});

test("where the primary has ended, those that shut the operator out start again after a while: one of them must be asked", () => {
  const stranger = { answer: { state: "untrusted", message: "self-signed" }, silentMs: 31_000 } as const;
  const made = { ...stranger, pod: podFixture(0, { uid: "made-again" }) };
  const ended = observedFixture({ replicas: 1, servers: [made, stranger] });
  expect(lockedOut(ended).actions).toMatchObject([{ do: "deletePod", server: "db-0", uid: "made-again" }]);
  const alive = observedFixture({ replicas: 1, servers: [stranger, stranger] });
  expect(lockedOut(alive)).toEqual({});
});

test("where nobody knows who led, one that shuts the operator out starts again after a while", () => {
  const unknown = { primary: undefined, epoch: undefined, leadership: undefined };
  const stranger = { answer: { state: "untrusted", message: "self-signed" }, silentMs: 31_000 } as const;
  const both = observedFixture({ replicas: 1, servers: [stranger, stranger], status: unknown });
  expect(lockedOut(both).actions).toMatchObject([{ do: "deletePod", server: "db-0", uid: "pod-0" }]);
  const stopping = { ...stranger, pod: podFixture(0, { deleting: true }) };
  const next = observedFixture({ replicas: 1, servers: [stopping, stranger], status: unknown });
  expect(lockedOut(next).actions).toEqual([]);
  const soon = { ...stranger, silentMs: 6_000 };
  expect(lockedOut(observedFixture({ replicas: 1, servers: [soon, soon], status: unknown }))).toEqual({});
  const led = observedFixture({ replicas: 1, servers: [undefined, soon] });
  expect(lockedOut(led).actions).toMatchObject([{ do: "deletePod", server: "db-1", uid: "pod-1" }]);
});
