import { describe, expect, test } from "vitest";
import type { ClaimView, Server } from "../observe/observed.ts";
import { serversToRun } from "../observe/servers-to-run.ts";
import {
  factsFixture,
  leadershipFixture,
  observedFixture,
  orphan,
  podless,
  restarted,
  silent,
} from "./fixture.ts";
import { leadership } from "./leadership.ts";
import { restore } from "./restore.ts";

const store = { claim: { name: "backups", path: "" } };
const wish = { id: "r1", keys: 5, source: { store, name: "b", allowUnverified: false } };
const spec = { restoreFrom: { backup: "b", allowUnverified: false, request: "" } };
const empty = { primary: undefined, leadership: undefined, epoch: undefined };

test("a new database with a restore never starts a server on an empty volume", () => {
  expect(serversToRun(observedFixture({ spec, status: empty }))).toBe(0);
  const failed = { ...empty, restore: { id: "r1", phase: "Failed" as const, server: "db-0" } };
  expect(serversToRun(observedFixture({ spec, status: failed }))).toBe(0);
});

test("a database that runs goes on until its servers are stopped for the restore, and after one that failed", () => {
  expect(serversToRun(observedFixture({ spec }))).toBe(3);
  expect(
    serversToRun(
      observedFixture({ spec, status: { restore: { id: "r1", phase: "Stopping", server: "db-0" } } }),
    ),
  ).toBe(0);
  expect(
    serversToRun(
      observedFixture({ spec, status: { restore: { id: "r1", phase: "Failed", server: "db-0" } } }),
    ),
  ).toBe(3);
});

test("the server whose volume was filled starts, also when it is one too many", () => {
  const restore = { id: "r1", phase: "Starting" as const, server: "db-3" };
  expect(serversToRun(observedFixture({ spec, status: { ...empty, epoch: 4, restore } }))).toBe(4);
});

test("servers stop, the volume of the primary is filled, and its claim says that it has the newest data", () => {
  const first = restore(observedFixture({ spec, observed: { restore: wish } }));
  expect(first.status?.restore).toMatchObject({ phase: "Stopping", server: "db-0" });
  const under = (phase: "Stopping" | "Filling") => ({ restore: { id: "r1", phase, server: "db-0" } });
  const stopped = { servers: [podless, podless, podless], spec };
  const busy = restore(observedFixture({ spec, status: under("Stopping"), observed: { restore: wish } }));
  expect(busy.status).toBeUndefined();
  const gone = restore(
    observedFixture({ ...stopped, status: under("Stopping"), observed: { restore: wish, setReplicas: 0 } }),
  );
  expect(gone.status).toMatchObject({
    restore: { phase: "Filling" },
    leadership: undefined,
    primary: undefined,
  });
  const begun = restore(
    observedFixture({ ...stopped, status: under("Filling"), observed: { restore: wish } }),
  );
  expect(begun.actions).toMatchObject([{ do: "startRestore", server: "db-0" }]);
  const jobs = [{ key: "restore-r1", state: "succeeded" as const, message: "" }];
  const filled = restore(
    observedFixture({ ...stopped, status: under("Filling"), observed: { restore: wish, jobs } }),
  );
  expect(filled.actions).toEqual([
    { do: "markClaim", server: "db-0", epoch: 4, primaryEpoch: 4, identity: "", restored: "r1" },
  ]);
});

describe("the volume with the newest data is filled, so that it is set aside", () => {
  const filled = (changes: Parameters<typeof observedFixture>[0]) =>
    restore(observedFixture({ spec, ...changes, observed: { restore: wish } })).status?.restore?.server;
  const { claim } = observedFixture().servers[1] as Server;
  const led = (primaryEpoch: number) => ({ claim: { ...(claim as ClaimView), primaryEpoch } });
  const leading = { answer: { state: "facts", facts: factsFixture(1, { role: "primary" }) } } as const;

  test("when the status is lost", () => {
    expect(filled({ status: empty, servers: [orphan(0), leading, orphan(2)] })).toBe("db-1");
    expect(filled({ status: empty, servers: [podless, { ...podless, ...led(4) }, podless] })).toBe("db-1");
  });

  test("when that of the primary is lost", () => {
    const lost = { ...podless, claim: { ...(claim as ClaimView), lost: true } };
    expect(filled({ servers: [lost, orphan(1), orphan(2)] })).toBe("db-1");
    const fresh = { ...podless, claim: { ...(claim as ClaimView), epoch: undefined } };
    expect(filled({ servers: [fresh, orphan(1), orphan(2)] })).toBe("db-1");
  });

  test("and a primary that is silent has it", () => {
    expect(filled({ servers: [silent, orphan(1), { ...orphan(2), ...led(2) }] })).toBe("db-0");
  });
});

test("what was filled is newer than every other volume, also when the status is lost", () => {
  const status = { ...empty, restore: { id: "r1", phase: "Filling" as const, server: "db-1" } };
  const jobs = [{ key: "restore-r1", state: "succeeded" as const, message: "" }];
  const servers = [podless, podless, podless];
  const { actions } = restore(observedFixture({ servers, spec, status, observed: { restore: wish, jobs } }));
  expect(actions).toMatchObject([{ do: "markClaim", server: "db-1", epoch: 4, primaryEpoch: 4 }]);
});

test("nobody is chosen while the volume is filled", () => {
  const status = { ...empty, restore: { id: "r1", phase: "Filling" as const, server: "db-0" } };
  expect(leadership(observedFixture({ spec, status }))).toEqual({});
});

test("a server that was filled from a backup without keys leads, and one that lost the keys of its backup does not", () => {
  const starting = { id: "r1-3", wish: "r1", phase: "Starting" as const, server: "db-0" };
  const chosen = (keys: number) => {
    const status = { ...empty, epoch: 4, restore: starting };
    const whole = observedFixture({
      replicas: 1,
      servers: [restarted(0), restarted(1)],
      status,
      observed: { restore: { ...wish, keys } },
    });
    const servers = whole.servers.map((server) => {
      const { answer, claim } = server;
      if (server.ordinal > 0 || answer?.state !== "facts" || !claim) return server;
      const facts = { ...answer.facts, keys: 0 };
      return {
        ...server,
        answer: { ...answer, facts },
        claim: { ...claim, epoch: 4, primaryEpoch: 4, restored: "r1-3" },
      };
    });
    return leadership({ ...whole, servers }).status?.promotion?.server;
  };
  expect(chosen(0)).toBe("db-0");
  expect(chosen(5)).toBeUndefined();
});

test("a restore is not done when a person had another server lead", () => {
  const ends = (server: string) => {
    const starting = { restore: { id: "r1-3", wish: "r1", phase: "Starting" as const, server } };
    return restore(observedFixture({ spec, status: starting, observed: { restore: wish } })).status?.restore;
  };
  expect(ends("db-0")?.phase).toBe("Done");
  expect(ends("db-1")).toMatchObject({ phase: "Failed", message: expect.stringContaining("db-0 leads") });
});

describe("after a person approved that a server leads", () => {
  const promoted = (before: string, restored?: string) => {
    const facts = factsFixture(1, { role: "primary", runId: "new-1", secondReplicationId: before });
    const why = { why: "db-0 has stopped", loss: "approved by a person" };
    const promotion = {
      server: "db-1",
      runId: "new-1",
      podUid: "pod-1",
      claimUid: "claim-1",
      epoch: 4,
      ...why,
    };
    const status = { promotion, restore: { id: "r1-2", phase: "Done" as const, server: "db-0" } };
    const claim = { ...(observedFixture().servers[1]?.claim as ClaimView), restored };
    const servers = [podless, { answer: { state: "facts" as const, facts }, claim }];
    return leadership(observedFixture({ servers, status, spec }));
  };

  test("a restore is not done whose data it never had", () => {
    const { status, events } = promoted("c".repeat(40));
    expect(status?.restore).toMatchObject({
      phase: "Failed",
      message: expect.stringContaining("db-1 leads with its own"),
    });
    expect(events).toContainEqual(expect.objectContaining({ type: "Warning", reason: "RestoreFailed" }));
  });

  test("a restore stays done where its volume, or the history that it followed, has the data", () => {
    expect(promoted("c".repeat(40), "r1-2 r0-1").status).toMatchObject({ primary: "db-1" });
    expect(promoted("c".repeat(40), "r1-2 r0-1").status).not.toHaveProperty("restore");
    const { replicationId } = leadershipFixture(2);
    expect(promoted(replicationId).status).not.toHaveProperty("restore");
    expect(promoted("c".repeat(40), "r0-1").status).toHaveProperty("restore");
  });
});

test("a restore that failed says so until the spec changes", () => {
  const status = { restore: { id: "r1", phase: "Failed" as const, server: "db-0", message: "not verified" } };
  expect(restore(observedFixture({ spec, status, observed: { restore: wish } })).notReady?.state).toBe(
    "failed",
  );
  const another = { ...wish, id: "r2" };
  expect(
    restore(observedFixture({ spec, status, observed: { restore: another } })).status?.restore?.phase,
  ).toBe("Stopping");
});

describe("a restore that was carried out is not carried out twice", () => {
  const done = { restore: { id: "r2-3", wish: "r2", phase: "Done" as const, server: "db-0" } };
  const asked = (status: object, id = "r1") =>
    restore(observedFixture({ spec, status, observed: { restore: { ...wish, id } } }));
  const stopping = { id: "r3-3", wish: "r3", phase: "Stopping", server: "db-0" };

  test("though the spec goes back to it: nothing is set aside, and the status says how to ask again", () => {
    const { notReady, status } = asked({ ...done, restores: ["r1-2"] });
    expect(status).toBeUndefined();
    expect(notReady).toMatchObject({
      ...{ state: "failed", reason: "RestoreFailed" },
      message: expect.stringContaining("spec.restoreFrom.request"),
    });
  });
  test("and another one begins with a record of it", () =>
    expect(asked({ ...done, restores: ["r1-2"] }, "r3").status).toEqual({
      ...{ restore: stopping, restores: ["r2-3", "r1-2"] },
    }));
  test("nor when one that failed or was given up came after it: its data is served", () => {
    const failed = { id: "r3-3", wish: "r3", phase: "Failed" as const, server: "db-0" };
    for (const last of [failed, undefined])
      expect(asked({ restore: last, restores: ["r1-2"] })).toEqual({
        status: { restore: { id: "r1-2", wish: "r1", phase: "Done", server: "db-0" } },
      });
    expect(asked({ primary: undefined, leadership: undefined, restores: ["r1-2"] })).toEqual({});
  });
  test("its volume says so", () => {
    const status = {
      restore: { id: "r2-3", wish: "r2", phase: "Filling" as const, server: "db-0" },
      restores: ["r1-2"],
    };
    const jobs = [{ key: "restore-r2-3", state: "succeeded" as const, message: "" }];
    const observed = { restore: { ...wish, id: "r2" }, jobs };
    expect(restore(observedFixture({ spec, status, observed })).actions).toMatchObject([
      { do: "markClaim", restored: "r2-3 r1-2" },
    ]);
  });
  test("and servers run when the rest of the status is lost", () =>
    expect(serversToRun(observedFixture({ spec, status: { ...empty, restores: ["r2-3", "r1-2"] } }))).toBe(
      3,
    ));
});

test("a restore of an earlier release is not begun again", () => {
  const status = { restore: { id: "r1", phase: "Done" as const, server: "db-0" } };
  expect(restore(observedFixture({ spec, status, observed: { restore: wish } }))).toEqual({});
});

test("a restore that nobody asks for any more ends before its volume is touched, or when it is complete", () => {
  const under = (phase: "Stopping" | "Filling" | "Failed") => ({
    restore: { id: "r1-3", wish: "r1", phase, server: "db-0" },
  });
  const another = { ...wish, id: "r2" };
  for (const asked of [undefined, another]) {
    const given = (phase: "Stopping" | "Filling", state?: "running" | "succeeded") =>
      restore(
        observedFixture({
          servers: [podless, podless, podless],
          status: under(phase),
          observed: { restore: asked, jobs: state ? [{ key: "restore-r1-3", state, message: "" }] : [] },
        }),
      );
    expect(given("Stopping").status).toEqual({ restore: undefined });
    expect(given("Filling").status).toEqual({ restore: undefined });
    expect(given("Filling", "running")).toMatchObject({ notReady: { reason: "Restoring" } });
    expect(given("Filling", "running").status).toBeUndefined();
    expect(given("Filling", "succeeded").actions).toMatchObject([{ do: "markClaim", server: "db-0" }]);
  }
  const failed = restore(observedFixture({ status: under("Failed") }));
  expect(failed).toEqual({ status: { restore: undefined } });
});

test("the Job of a restore that is over goes, so that its pod holds no claim", () => {
  const jobs = [
    { key: "restore-r1", state: "succeeded" as const, message: "" },
    { key: "restore-r0", state: "failed" as const, message: "" },
    { key: "init-h1", state: "succeeded" as const, message: "" },
  ];
  const status = { restore: { id: "r1", phase: "Done" as const, server: "db-0" } };
  for (const asked of [undefined, wish])
    expect(restore(observedFixture({ status, observed: { restore: asked, jobs } }))).toEqual({
      actions: [{ do: "deleteJobs", keys: ["restore-r1"] }],
    });
});

describe("a restore of a new database that failed", () => {
  const under = { id: "r1-0", wish: "r1", phase: "Filling" as const, server: "db-0" };
  const jobs = (reason?: string) => [
    { key: "restore-r1-0", state: "failed" as const, message: "it fails", ...(reason && { reason }) },
  ];
  const failed = (reason?: string) =>
    restore(
      observedFixture({
        spec,
        servers: [podless, podless, podless],
        status: { ...empty, restore: under },
        observed: { restore: wish, jobs: jobs(reason) },
      }),
    ).status?.restore;
  const after = (ms: number, status: object = empty) => {
    const known = { ...status, restore: failed("StoreUnavailable") } as never;
    const o = observedFixture({ spec, status: known, observed: { restore: wish } });
    return restore({ ...o, nowMs: o.nowMs + ms });
  };

  test("because its store did not answer is tried again a minute later", () => {
    expect(after(59_000)).toMatchObject({ notReady: { state: "waiting", reason: "RestoreFailed" } });
    for (const ms of [60_000, -3_600_000])
      expect(after(ms)).toEqual({
        actions: [{ do: "deleteJobs", keys: ["restore-r1-0"] }],
        status: { restore: { ...under, phase: "Stopping" } },
        notReady: expect.objectContaining({ reason: "Restoring" }),
      });
  });

  test("is tried again when its pod was killed, and not when it cannot succeed", () => {
    expect(failed()?.failedAt).toBeDefined();
    expect(failed("NotFound")?.failedAt).toBeUndefined();
    expect(failed("VersionTooNew")?.failedAt).toBeUndefined();
  });

  test("is not tried again by itself where servers serve other data", () => {
    expect(after(60_000, {})).toEqual({
      notReady: expect.objectContaining({ state: "failed", reason: "RestoreFailed" }),
    });
  });
});

describe("what was restored and is lost before anybody led", () => {
  const under = { id: "r1-0", wish: "r1", phase: "Starting" as const, server: "db-0" };
  const claims = (first: Partial<ClaimView>) =>
    [first, { epoch: undefined }].map((changes, i) => ({ ...restarted(i), claim: { ...claim, ...changes } }));
  const claim = observedFixture().servers[0]?.claim as ClaimView;
  const lost = (first: Partial<ClaimView>, more: object = {}, asked: typeof wish | null = wish) => {
    const status = { ...empty, epoch: 3, restore: under, ...more };
    const observed = {
      restore: asked ?? undefined,
      jobs: [{ key: "restore-r1-0", state: "succeeded", message: "" }],
    };
    return observedFixture({
      ...{ spec, replicas: 1, servers: claims(first) },
      ...{ status, observed: observed as never },
    });
  };

  test.each<[string, Partial<ClaimView>]>([
    ["the claim is being deleted", { deleting: true }],
    ["the claim is another one", { uid: "other", epoch: undefined, primaryEpoch: undefined }],
    ["the volume was found empty", { epoch: 0, primaryEpoch: 0 }],
  ])("is restored again: %s", (_name, first) => {
    expect(restore(lost(first)).status).toEqual({
      restore: { id: "r1-0-2", wish: "r1", phase: "Stopping", server: "db-0" },
    });
    expect(leadership(lost(first))).toEqual({});
    expect(restore(lost(first, {}, null)).status).toEqual({ restore: undefined });
  });

  test("keeps no claim from going by the pod of its Job", () => {
    expect(restore(lost({ deleting: true })).actions).toEqual([{ do: "deleteJobs", keys: ["restore-r1-0"] }]);
  });

  test("is not restored again when somebody may have led since", () => {
    const gone = { epoch: 0, primaryEpoch: 0 };
    const promotion = { server: "db-1", runId: "", podUid: "", claimUid: "", epoch: 4, why: "", loss: "" };
    expect(restore(lost({})).status).toBeUndefined();
    expect(restore(lost(gone, { promotion })).status).toBeUndefined();
    expect(restore(lost(gone, { epoch: undefined })).status).toBeUndefined();
    const o = lost(gone);
    const [first, second] = o.servers as [Server, Server];
    const later = { ...second, claim: { ...claim, epoch: 4 } };
    expect(restore({ ...o, servers: [first, later] }).status).toBeUndefined();
    const leads = {
      ...second,
      answer: { state: "facts" as const, facts: factsFixture(1, { role: "primary" }) },
    };
    expect(restore({ ...o, servers: [first, leads] }).status).toBeUndefined();
  });
});

test("a Job does not go on with a claim that is being deleted, which its failed attempt would keep", () => {
  const { claim } = observedFixture().servers[0] as Server;
  const servers = [{ ...podless, claim: { ...(claim as ClaimView), deleting: true } }, podless, podless];
  const status = { restore: { id: "r1", phase: "Filling" as const, server: "db-0" } };
  const jobs = [{ key: "restore-r1", state: "running" as const, message: "" }];
  const seen = (observed: object) =>
    restore(observedFixture({ servers, spec, status, observed: { restore: wish, ...observed } }));
  expect(seen({ jobs }).actions).toEqual([{ do: "deleteJobs", keys: ["restore-r1"] }]);
  const waits = seen({ jobs: [] });
  expect(waits.actions).toBeUndefined();
  expect(waits.notReady?.message).toContain("when the claim that is being deleted has gone");
  const other = { ...status.restore, server: "db-1" };
  const elsewhere = observedFixture({
    servers,
    spec,
    status: { restore: other },
    observed: { restore: wish, jobs },
  });
  expect(restore(elsewhere).actions).toBeUndefined();
});

test("a backup that is gone by the time the servers have stopped is named", () => {
  const status = { ...empty, restore: { id: "r1-0", wish: "r1", phase: "Filling" as const, server: "db-0" } };
  const gone = {
    id: "r1",
    keys: undefined,
    source: { problem: "there is no SampleDBBackup b", final: false },
  };
  const plan = restore(observedFixture({ spec, status, observed: { restore: gone } }));
  expect(plan).toEqual({ notReady: expect.objectContaining({ message: "there is no SampleDBBackup b" }) });
});
