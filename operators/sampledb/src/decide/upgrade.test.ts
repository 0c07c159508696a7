import { describe, expect, test } from "vitest";
import { reasons } from "../api/conditions.ts";
import type { Observed } from "../observe/observed.ts";
import { serversToRun } from "../observe/servers-to-run.ts";
import { decide } from "./decide.ts";
import { wantedServers } from "./facts.ts";
import {
  factsFixture,
  leadershipFixture,
  observedFixture,
  podFixture,
  podless,
  restarted,
} from "./fixture.ts";
import { leadership } from "./leadership.ts";
import { rollout } from "./rollout.ts";
import { closedGuard, upgrade } from "./upgrade.ts";

type Under = NonNullable<Observed["status"]["upgrade"]>;
const since = "2026-01-01T00:00:00Z";
const under = (phase: Under["phase"], more: Partial<Under> = {}): Under => ({
  from: "7.0",
  to: "8.0",
  id: "8-0-2",
  phase,
  pointOfNoReturn: false,
  since,
  ...more,
});
const modern = (ordinal: number) => ({
  pod: podFixture(ordinal, { template: "t2" }),
  answer: { state: "facts" as const, facts: factsFixture(ordinal, { version: "8.0.2" }) },
});
const spec = { version: "8.0" };
const rolled = { setTemplate: "t2", wantedTemplate: "t2" };

test("an upgrade begins when every server is in sync", () => {
  expect(upgrade(observedFixture({ replicas: 1, spec })).status?.upgrade?.phase).toBe("BackingUp");
  const behind = observedFixture({ replicas: 1, spec, servers: [undefined, { answer: undefined }] });
  expect(upgrade(behind).status?.upgrade).toBeUndefined();
});

test("the pod of a rehearsal that nobody reads keeps no claim of the store from going", () => {
  const jobs = ["rehearse-8-0-1", "rehearse-8-0-2", "migrate-8-0-1"].map((key) => ({
    ...{ key, state: "succeeded" as const, message: "" },
  }));
  const deleted = (upgrading: Under | undefined) =>
    upgrade(
      observedFixture({
        ...{ replicas: 1, spec: upgrading ? spec : {}, status: { upgrade: upgrading } },
        observed: { jobs } as never,
      }),
    ).actions?.filter((action) => action.do === "deleteJobs");
  const both = [{ do: "deleteJobs", keys: ["rehearse-8-0-1", "rehearse-8-0-2"] }];
  expect(deleted(undefined)).toEqual(both);
  expect(deleted(under("BackingUp"))).toEqual(both);
  expect(deleted(under("Rehearsing"))).toEqual([{ do: "deleteJobs", keys: ["rehearse-8-0-1"] }]);
  expect(deleted(under("Replicas"))).toEqual(both);
});

test("a version that was refused is not tried", () => {
  expect(upgrade(observedFixture({ replicas: 1, spec: { version: "9.0" } }))).toEqual({});
  expect(upgrade(observedFixture({ replicas: 1, spec: { version: "6.2" } }))).toEqual({});
});

test("an upgrade that failed is not tried again until the spec changes", () => {
  const status = { failedUpgrade: { to: "8.0", generation: 1, message: "no" } };
  expect(upgrade(observedFixture({ replicas: 1, spec, status })).notReady?.reason).toBe(
    reasons.upgradeFailed,
  );
  const changed = observedFixture({ replicas: 1, spec, status, observed: { generation: 2 } });
  expect(upgrade(changed).status?.upgrade?.phase).toBe("BackingUp");
});

test("an upgrade is given up when the version is taken back before the point of no return", () => {
  const back = { version: "7.0" };
  const taken = (phase: Under["phase"], more: Partial<Under> = {}) =>
    upgrade(
      observedFixture({
        replicas: 1,
        spec: back,
        status: { upgrade: under(phase, more), imageVersion: "8.0" },
        observed: rolled,
      }),
    ).status;
  expect(taken("BackingUp")).toEqual({ upgrade: undefined });
  expect(taken("Rehearsing")).toEqual({ upgrade: undefined });
  const goes = { upgrade: { phase: "GoingBack", held: "db-0" }, imageVersion: "7.0" };
  expect(taken("Replicas")).toMatchObject(goes);
  expect(taken("Switching", { held: "db-0" })).toMatchObject(goes);
  expect(taken("Verifying", { held: "db-0" })).toMatchObject(goes);
  expect(taken("Finishing", { pointOfNoReturn: true })?.upgrade?.phase).not.toBe("GoingBack");
});

test("an upgrade that failed is tried again when the spec was corrected meanwhile", () => {
  const jobs = [{ key: "rehearse-8-0-2", state: "failed" as const, message: "cannot load" }];
  const status = { upgrade: under("Rehearsing") };
  const corrected = { jobs, generation: 3 };
  const { status: after } = upgrade(observedFixture({ replicas: 1, spec, status, observed: corrected }));
  expect(after?.failedUpgrade?.generation).toBe(2);
  const next = observedFixture({ replicas: 1, spec, status: { ...after }, observed: { generation: 3 } });
  expect(upgrade(next).status?.upgrade).toMatchObject({
    phase: "BackingUp",
    id: expect.stringMatching(/^8-0-[0-9a-z]+-3$/),
  });
});

describe("before anything is touched", () => {
  test("a failed backup or rehearsal gives up", () => {
    const backups = new Map([["upgrade-8-0-2-uid", { phase: "Failed", message: "no space" }]]);
    const failed = upgrade(
      observedFixture({ replicas: 1, spec, status: { upgrade: under("BackingUp") }, observed: { backups } }),
    );
    expect(failed.status).toMatchObject({ upgrade: undefined, failedUpgrade: { to: "8.0" } });
    const jobs = [{ key: "rehearse-8-0-2", state: "failed" as const, message: "cannot load" }];
    const rehearsal = upgrade(
      observedFixture({ replicas: 1, spec, status: { upgrade: under("Rehearsing") }, observed: { jobs } }),
    );
    expect(rehearsal.status?.failedUpgrade?.message).toContain("cannot load");
    expect(rehearsal.status?.imageVersion).toBeUndefined();
  });
});

describe("the switch", () => {
  const status = { imageVersion: "8.0" };

  test("waits until every replica runs the new version, and holds the old primary", () => {
    const o = observedFixture({
      replicas: 1,
      spec,
      servers: [undefined, modern(1)],
      status: { ...status, upgrade: under("Replicas") },
      observed: rolled,
    });
    expect(upgrade(o).status?.upgrade).toMatchObject({
      phase: "Switching",
      held: "db-0",
      candidate: { server: "db-1" },
    });
    const early = { ...o, servers: observedFixture({ replicas: 1 }).servers };
    expect(upgrade(early).status?.upgrade).toBeUndefined();
  });

  test("has happened when a failover chose the new version: clients have written to it, so nothing leads back", () => {
    const facts = factsFixture(0, { role: "primary", version: "8.0.2", upstream: undefined });
    const o = observedFixture({
      replicas: 1,
      spec,
      servers: [{ ...modern(0), answer: { state: "facts" as const, facts } }, modern(1)],
      status: { ...status, upgrade: under("Replicas") },
      observed: { ...rolled, migrationsDue: 1 },
    });
    expect(upgrade(o).status?.upgrade).toMatchObject({ phase: "Finishing", pointOfNoReturn: true });
  });

  const switching = under("Switching", { held: "db-0", candidate: { server: "db-1", runId: "run-1" } });

  test("is one action, and the old primary's pod is left alone meanwhile", () => {
    const o = observedFixture({
      replicas: 1,
      spec,
      servers: [undefined, modern(1)],
      status: { ...status, upgrade: switching },
      observed: rolled,
    });
    expect(upgrade(o).actions).toMatchObject([{ do: "switchOver", from: "db-0", to: "db-1", open: true }]);
    expect(rollout(o)).toEqual({});
  });

  test.each([
    ["takes writes already", { guard: 0, persistenceFailed: true }, "Finishing", true],
    ["is verified", { guard: closedGuard }, "Finishing", true],
    ["cannot write to its volume", { guard: closedGuard, persistenceFailed: true }, "Verifying", false],
  ] as const)("is recorded when the new primary %s", (_name, its, phase, pointOfNoReturn) => {
    const facts = factsFixture(1, { role: "primary", version: "8.0.2", upstream: undefined, ...its });
    const servers = [undefined, { ...modern(1), answer: { state: "facts" as const, facts } }];
    const plan = leadership(
      observedFixture({
        replicas: 1,
        spec,
        servers,
        status: { ...status, upgrade: switching },
        observed: rolled,
      }),
    );
    expect(plan.status).toMatchObject({ primary: "db-1", epoch: 4, upgrade: { phase, pointOfNoReturn } });
    expect(plan.opens).toBe(pointOfNoReturn ? "db-1" : undefined);
    // No other policy speaks of it in the same pass: what is held to go back to stays held.
    const whole = decide(
      observedFixture({
        replicas: 1,
        spec,
        servers,
        status: { ...status, upgrade: switching },
        observed: rolled,
      }),
    );
    expect(whole.status?.upgrade).toMatchObject({ phase, held: "db-0" });
  });

  test("has happened when a failover chose another server of the new version, which is verified then", () => {
    const facts = factsFixture(2, {
      role: "primary",
      version: "8.0.2",
      guard: closedGuard,
      upstream: undefined,
    });
    const o = observedFixture({
      replicas: 2,
      spec,
      servers: [restarted(0), modern(1), { ...modern(2), answer: { state: "facts" as const, facts } }],
      status: {
        ...status,
        primary: "db-2",
        leadership: leadershipFixture(0, { runId: "run-2" }),
        upgrade: switching,
      },
      observed: rolled,
    });
    const candidate = { server: "db-2", runId: "run-2" };
    expect(upgrade(o).status?.upgrade).toMatchObject({ phase: "Verifying", held: "db-0", candidate });
  });

  test("does not happen when the candidate was restarted", () => {
    const restarted = under("Switching", { held: "db-0", candidate: { server: "db-1", runId: "other" } });
    const o = observedFixture({
      replicas: 1,
      spec,
      servers: [undefined, modern(1)],
      status: { ...status, upgrade: restarted },
      observed: rolled,
    });
    expect(upgrade(o).status?.upgrade?.phase).toBe("Replicas");
  });
});

describe("a database without replicas", () => {
  const alone = { replicas: 0, spec, observed: rolled } as const;

  test("gets a replica of the new version for as long as it is upgraded", () => {
    const jobs = [{ key: "rehearse-8-0-2", state: "succeeded" as const, message: "" }];
    const rehearsed = observedFixture({
      ...alone,
      status: { upgrade: under("Rehearsing") },
      observed: { ...rolled, jobs },
    });
    expect(wantedServers(rehearsed)).toBe(1);
    expect(upgrade(rehearsed).status?.upgrade?.phase).toBe("Replicas");
    const during = observedFixture({ ...alone, status: { upgrade: under("Replicas") } });
    expect([serversToRun(during), wantedServers(during)]).toEqual([2, 2]);
    const after = observedFixture({ ...alone, status: { primary: "db-1" } });
    expect([serversToRun(after), wantedServers(after)]).toEqual([2, 1]);
    const back = observedFixture({ ...alone, status: { upgrade: under("GoingBack", { held: "db-0" }) } });
    expect(serversToRun(back)).toBe(1);
  });

  const lent = { ...modern(1), claim: undefined };
  const followed = leadershipFixture(1, { guard: 0 });

  test("takes writes whether that replica keeps up or not", () => {
    const o = observedFixture({
      ...alone,
      servers: [undefined, lent],
      status: { imageVersion: "8.0", leadership: followed, upgrade: under("Replicas") },
    });
    expect(leadership(o).actions?.filter((action) => action.do === "setGuard")).toEqual([]);
  });

  test("waits for its primary, which has every write, and not for that replica", () => {
    const orphaned = factsFixture(1, { version: "8.0.2", linkUp: false });
    const o = observedFixture({
      ...alone,
      servers: [podless, { pod: podFixture(1), answer: { state: "facts", facts: orphaned } }],
      status: { imageVersion: "8.0", leadership: followed, upgrade: under("Replicas") },
    });
    const plan = leadership(o);
    expect(plan.status?.promotion).toBeUndefined();
    expect(plan.notReady?.message).toContain("until db-0");
  });
});

test("a status of an earlier time does not bring an older version back than the primary runs", () => {
  const facts = factsFixture(0, { role: "primary", version: "8.0.2", upstream: undefined, replicas: [] });
  const servers = [{ answer: { state: "facts" as const, facts } }];
  const at = (more: Observed["status"]) =>
    upgrade(observedFixture({ replicas: 0, spec, servers, status: { imageVersion: "7.0", ...more } })).status;
  expect(at({})).toEqual({ imageVersion: "8.0", upgrade: undefined });
  expect(at({ upgrade: under("Rehearsing") })).toEqual({ imageVersion: "8.0", upgrade: undefined });
  expect(at({ upgrade: under("GoingBack", { held: "db-0" }) })?.imageVersion).toBeUndefined();
  expect(at({ imageVersion: "8.0" })?.imageVersion).toBeUndefined();
});

describe("going back", () => {
  const status = { imageVersion: "7.0", upgrade: under("GoingBack", { held: "db-0", message: "no" }) };

  test("holds the primary that leads still, when a replica does not start with the new version", () => {
    const stuck = { pod: podFixture(1, { template: "t2", obstacle: "CrashLoopBackOff" }), answer: undefined };
    const o = observedFixture({
      replicas: 1,
      spec,
      servers: [undefined, stuck],
      status: { imageVersion: "8.0", upgrade: under("Replicas", { since: "2020-01-01T00:00:00Z" }) },
      observed: rolled,
    });
    expect(upgrade(o).status?.upgrade).toMatchObject({ phase: "GoingBack", held: "db-0" });
  });

  test("never promotes a server of the version that is given up: what it took in would be lost", () => {
    const o = observedFixture({ replicas: 1, spec, servers: [podless, modern(1)], status });
    const plan = leadership(o);
    expect(plan.status?.promotion).toBeUndefined();
    expect(plan.notReady?.message).toContain("db-0");
  });

  const switched = under("GoingBack", { held: "db-0", candidate: { server: "db-1", runId: "run-1" } });

  test("has the held primary lead again, then lets clients write", () => {
    const old = factsFixture(0, { role: "primary", guard: closedGuard, upstream: undefined });
    const facts = factsFixture(1, { role: "primary", version: "8.0.2", upstream: undefined });
    const servers = [
      { answer: { state: "facts" as const, facts: old } },
      { ...modern(1), answer: { state: "facts" as const, facts } },
    ];
    const leader = { primary: "db-1", leadership: leadershipFixture(0, { runId: "run-1" }) };
    const now = { imageVersion: "7.0", upgrade: switched };
    const first = upgrade(observedFixture({ replicas: 1, spec, servers, status: { ...now, ...leader } }));
    expect(first.status?.promotion).toMatchObject({ server: "db-0", loss: "nothing" });
    const second = upgrade(observedFixture({ replicas: 1, spec, servers, status: now }));
    expect(second.actions).toEqual([{ do: "resume", server: "db-0" }]);
    expect(second.status?.upgrade?.candidate).toBeUndefined();
  });

  test("has the held primary lead again when a failover chose another server of the new version since", () => {
    const old = factsFixture(0, { role: "primary", guard: closedGuard, upstream: undefined });
    const facts = factsFixture(2, { role: "primary", version: "8.0.2", upstream: undefined });
    const plan = upgrade(
      observedFixture({
        replicas: 2,
        spec,
        servers: [
          { answer: { state: "facts", facts: old } },
          modern(1),
          { ...modern(2), answer: { state: "facts", facts } },
        ],
        status: {
          ...{ imageVersion: "7.0", upgrade: switched, primary: "db-2" },
          leadership: leadershipFixture(0, { runId: "run-2" }),
        },
      }),
    );
    expect(plan.status?.promotion).toMatchObject({ server: "db-0", loss: "nothing" });
  });

  test("goes on with the new version when the data of the held primary is lost", () => {
    const facts = factsFixture(1, { role: "primary", version: "8.0.2", upstream: undefined });
    const damaged = {
      pod: podFixture(0, { obstacle: "CrashLoopBackOff: RDB CRC error", stopped: true }),
      answer: undefined,
    };
    const now = { imageVersion: "7.0", upgrade: switched };
    const leader = { primary: "db-1", leadership: leadershipFixture(0, { runId: "run-1" }) };
    const leads = { ...modern(1), answer: { state: "facts" as const, facts } };
    const servers = [damaged, leads];
    const plan = upgrade(observedFixture({ replicas: 1, spec, servers, status: { ...now, ...leader } }));
    expect(plan.status).toMatchObject({
      imageVersion: "8.0",
      upgrade: { phase: "Finishing", pointOfNoReturn: true },
    });
    const orphaned = factsFixture(1, { version: "8.0.2", linkUp: false });
    const follows = { ...modern(1), answer: { state: "facts" as const, facts: orphaned } };
    const before = observedFixture({ replicas: 1, spec, servers: [damaged, follows], status: now });
    expect(leadership(before).status?.promotion).toMatchObject({ server: "db-1" });
  });

  test("does not lead back to a volume that was lost, also while the new version does not answer", () => {
    const now = { imageVersion: "7.0", upgrade: switched };
    const leader = { primary: "db-1", leadership: leadershipFixture(0, { runId: "run-1" }) };
    const silent = { ...modern(1), answer: { state: "silent" as const, message: "" } };
    const back = (held: Parameters<typeof observedFixture>[0]) =>
      upgrade(observedFixture({ replicas: 1, spec, status: { ...now, ...leader }, ...held })).status
        ?.promotion;
    expect(back({ servers: [restarted(0), silent] })).toMatchObject({ server: "db-0" });
    expect(back({ servers: [restarted(0, { empty: true }), silent] })).toBeUndefined();
    const [first] = observedFixture().servers;
    const claim = first?.claim && { ...first.claim, epoch: 0, primaryEpoch: 0 };
    expect(back({ servers: [{ ...restarted(0), claim }, silent] })).toBeUndefined();
  });

  test("does not put the held primary in the place of another of the old version that a failover chose since", () => {
    const facts = factsFixture(1, { role: "primary", upstream: undefined });
    const o = observedFixture({
      replicas: 1,
      spec,
      servers: [restarted(0), { answer: { state: "facts", facts } }],
      status: { ...status, primary: "db-1", leadership: leadershipFixture(0, { runId: "run-1" }) },
    });
    expect(upgrade(o).status?.promotion).toBeUndefined();
    const gone = {
      ...o,
      servers: o.servers.map((each) => (each.ordinal === 1 ? { ...each, ...podless } : each)),
    };
    expect(upgrade(gone).status?.promotion).toBeUndefined();
  });
});

describe("verification", () => {
  /** `db-1` leads with the new version, and `db-0` is held as it was: with ten keys. */
  const leads = (
    keys: number,
    {
      guard = closedGuard,
      ...changes
    }: Parameters<typeof observedFixture>[0] & { readonly guard?: number } = {},
  ) => {
    const old = factsFixture(0, { role: "primary", keys: 10, guard: closedGuard, upstream: undefined });
    const facts = factsFixture(1, { role: "primary", version: "8.0.2", guard, keys, upstream: undefined });
    return observedFixture({
      replicas: 1,
      spec,
      servers: [
        { answer: { state: "facts", facts: old } },
        { pod: podFixture(1, { template: "t2" }), answer: { state: "facts", facts } },
      ],
      status: {
        imageVersion: "8.0",
        primary: "db-1",
        leadership: leadershipFixture(0, { runId: "run-1", followers: [] }),
        upgrade: under("Verifying", { held: "db-0", candidate: { server: "db-1", runId: "run-1" } }),
      },
      observed: rolled,
      ...changes,
    });
  };

  test("names the point of no return, and opens the database when that is recorded", () => {
    const o = leads(10);
    const plan = decide(o);
    expect(plan.actions).not.toContainEqual({ do: "resume", server: "db-1" });
    expect(plan.opens).toBe("db-1");
    expect(plan.status?.upgrade).toMatchObject({ phase: "Finishing", pointOfNoReturn: true });
    const next = decide({ ...o, status: { ...o.status, ...plan.status } });
    expect(next.actions).toContainEqual({ do: "resume", server: "db-1" });
  });

  test("goes back when keys are missing or too many", () => {
    for (const keys of [0, 11]) {
      const plan = upgrade(leads(keys));
      expect(plan.status).toMatchObject({ upgrade: { phase: "GoingBack" }, imageVersion: "7.0" });
      expect(plan.actions ?? []).toEqual([]);
    }
  });

  test("waits for migrations, and goes back when one fails", () => {
    const due = { ...rolled, migrationsDue: 1 };
    const open = leads(10, { observed: due, guard: 0 });
    expect(upgrade(open).actions).toEqual([{ do: "setGuard", server: "db-1", guard: closedGuard }]);
    const closed = leads(10, { observed: due });
    expect(upgrade(closed).actions).toEqual([{ do: "startMigrations", id: "8-0-2", server: "db-1" }]);
    // Nobody reads what they have half done: no Service leads there.
    const labels = leadership(closed).actions?.filter((action) => action.do === "label");
    expect(labels).toContainEqual({ do: "label", server: "db-1", role: null, read: false });
    const jobs = [{ key: "migrate-8-0-2", state: "failed" as const, message: "bad script" }];
    expect(upgrade(leads(10, { observed: { ...due, jobs } })).status?.upgrade?.phase).toBe("GoingBack");
  });
});
