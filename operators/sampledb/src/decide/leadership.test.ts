import { describe, expect, test } from "vitest";
import { reasons } from "../api/conditions.ts";
import type { ServerFacts } from "../engine/info.ts";
import { Memory } from "../observe/memory.ts";
import type { ClaimView, Observed, Server } from "../observe/observed.ts";
import { serversToRun } from "../observe/servers-to-run.ts";
import { decide } from "./decide.ts";
import {
  factsFixture,
  ipOf,
  leadershipFixture,
  nowMs,
  observedFixture,
  orphan,
  podFixture,
  podless,
  refused,
  restarted,
  silent,
} from "./fixture.ts";
import { leadership } from "./leadership.ts";
import { closedGuard } from "./upgrade.ts";

/** The process before it found nothing, and left files. */
const wipedTwice: Partial<ServerFacts> = { keys: 0, volume: "another" };

const stopped: Partial<Server> = {
  pod: podFixture(0, { stopped: true }),
  answer: { state: "refused", message: "" },
};

test("a database runs the version that its first primary has, whatever the spec says by then", () => {
  const promotion = { server: "db-0", runId: "run-0", podUid: "", claimUid: "", epoch: 1, why: "", loss: "" };
  const none = { primary: undefined, leadership: undefined, imageVersion: "8.0" };
  const o = observedFixture({ replicas: 0, status: { ...none, epoch: undefined, promotion } });
  const claim = { ...(o.servers[0]?.claim as ClaimView), epoch: undefined };
  const servers = o.servers.map((server) => ({ ...server, claim }));
  expect(leadership({ ...o, servers }).status?.imageVersion).toBe("7.0");
  expect(leadership(o).status).not.toHaveProperty("imageVersion");
});

test("a promoted server takes writes when it is recorded that it leads, and not while an upgrade is verified", () => {
  const promotion = { server: "db-0", runId: "run-0", podUid: "", claimUid: "", epoch: 4, why: "", loss: "" };
  const plan = leadership(observedFixture({ status: { promotion } }));
  expect(plan.status).toMatchObject({ primary: "db-0", epoch: 4, promotion: undefined });
  expect(plan.opens).toBe("db-0");
  const upgrade = { phase: "Verifying" } as Observed["status"]["upgrade"];
  expect(leadership(observedFixture({ status: { promotion, upgrade } })).opens).toBeUndefined();
});

test("a database that is well gets no action and no notReady", () => {
  const plan = decide(observedFixture());
  expect(plan.actions).toEqual([]);
  expect(plan.notReady).toBeUndefined();
});

describe("the choice after a primary that has stopped", () => {
  const cases: readonly [string, Observed, string | undefined][] = [
    ["the only replica", observedFixture({ replicas: 1, servers: [stopped, orphan(1)] }), "db-1"],
    [
      "the more advanced of two",
      observedFixture({ servers: [stopped, orphan(1, 900n), orphan(2, 901n)] }),
      "db-2",
    ],
    [
      "offsets beyond 2^53",
      observedFixture({ servers: [stopped, orphan(1, 9007199254740993n), orphan(2, 9007199254740992n)] }),
      "db-1",
    ],
    [
      "WAIT 1 and one of two replicas missing",
      observedFixture({ servers: [stopped, orphan(1), podless] }),
      undefined,
    ],
    [
      "WAIT 2 and one of two replicas missing",
      observedFixture({ acknowledgements: 2, servers: [stopped, orphan(1), podless] }),
      "db-1",
    ],
    [
      "WAIT 0 and one of two replicas missing",
      observedFixture({ acknowledgements: 0, servers: [stopped, orphan(1), podless] }),
      "db-1",
    ],
    [
      "WAIT 1, one of two restarted and so not comparable",
      observedFixture({ servers: [stopped, orphan(1), restarted(2)] }),
      undefined,
    ],
    [
      "a missing replica that a person gives up",
      observedFixture({ servers: [stopped, orphan(1), podless], observed: { approvedLoss: "db-1" } }),
      "db-1",
    ],
    [
      "a replica that still receives a full copy",
      observedFixture({
        replicas: 1,
        servers: [
          stopped,
          { answer: { state: "facts", facts: factsFixture(1, { linkUp: false, syncing: true }) } },
        ],
      }),
      undefined,
    ],
    [
      "no replicas, and the primary is back with its data",
      observedFixture({ replicas: 0, servers: [restarted(0)] }),
      "db-0",
    ],
    [
      "no replicas, and the primary is back with an empty volume",
      observedFixture({ replicas: 0, servers: [restarted(0, { empty: true })] }),
      undefined,
    ],
    [
      "no replicas, and the primary is back on a volume that was wiped, for the second time",
      observedFixture({ replicas: 0, servers: [restarted(0, { facts: wipedTwice })] }),
      undefined,
    ],
    [
      "no replicas, no keys, and the primary is back with its volume",
      observedFixture({ replicas: 0, servers: [restarted(0, { facts: { keys: 0 } })] }),
      "db-0",
    ],
    [
      "both restarted, the primary's volume was wiped, WAIT asked for every replica",
      observedFixture({ replicas: 1, servers: [restarted(0, { facts: wipedTwice }), restarted(1)] }),
      "db-1",
    ],
    [
      "both restarted, and both volumes were wiped",
      observedFixture({
        replicas: 1,
        servers: [restarted(0, { facts: wipedTwice }), restarted(1, { facts: wipedTwice })],
      }),
      undefined,
    ],
    [
      "everyone restarted: the primary has the data",
      observedFixture({ servers: [restarted(0), restarted(1), restarted(2)] }),
      "db-0",
    ],
    [
      "everyone restarted, and the primary's volume is empty",
      observedFixture({ servers: [restarted(0, { empty: true }), restarted(1), restarted(2)] }),
      undefined,
    ],
    [
      "both restarted, the primary's volume is empty, WAIT asked for every replica",
      observedFixture({ replicas: 1, servers: [restarted(0, { empty: true }), restarted(1)] }),
      "db-1",
    ],
    [
      "a replica that lives is better than a restarted primary",
      observedFixture({ replicas: 1, servers: [restarted(0), orphan(1)] }),
      "db-1",
    ],
    [
      "a primary that was made a replica has everything",
      observedFixture({
        replicas: 1,
        servers: [
          { answer: { state: "facts", facts: factsFixture(0, { linkUp: false, offset: 2_000n }) } },
          orphan(1),
        ],
      }),
      "db-0",
    ],
    [
      "a process that refuses connections is gone",
      observedFixture({ replicas: 1, servers: [refused, orphan(1)] }),
      "db-1",
    ],
    [
      "a pod of another UID is another process",
      observedFixture({
        replicas: 1,
        servers: [{ ...silent, pod: podFixture(0, { uid: "other" }) }, orphan(1)],
      }),
      "db-1",
    ],
  ];
  test.each(cases)("%s", (_, observed, expected) => {
    const plan = leadership(observed);
    expect(plan.status?.promotion?.server).toBe(expected);
    expect(plan.actions ?? []).toEqual([]);
    if (expected === undefined) {
      expect([reasons.primaryLost, reasons.dataLost]).toContain(plan.notReady?.reason);
    } else expect(plan.status?.promotion?.epoch).toBe(4);
  });

  test("names who is missing and how to go on without", () => {
    const { notReady } = leadership(observedFixture({ servers: [stopped, orphan(1), podless] }));
    expect(notReady?.message).toContain("db-2");
    expect(notReady?.message).toContain("approve-loss to db-1@3");
  });

  test("is not spoken of while no server is made because the spec is refused", () => {
    const specProblem = { reason: reasons.settingRefused, message: "not that one" };
    const refused = observedFixture({
      servers: [podless, podless, podless],
      status: { leadership: undefined },
      observed: { setReplicas: undefined, specProblem },
    });
    expect(decide(refused).notReady).toMatchObject({ state: "failed", ...specProblem });
  });

  test("of volumes from before whose primary is not among them is a person's", () => {
    const lost = { primary: undefined, leadership: undefined, epoch: undefined };
    const found = (first: Partial<Server>, approvedLoss?: string) => {
      const servers = [first, restarted(1)];
      const observed = observedFixture({ replicas: 1, servers, status: lost, observed: { approvedLoss } });
      const [{ claim } = {}] = observed.servers;
      const wiped = first.answer && claim && { claim: { ...claim, epoch: 0, primaryEpoch: 0 } };
      const [head, ...rest] = observed.servers as [Server, ...Server[]];
      return leadership({ ...observed, servers: [{ ...head, ...wiped }, ...rest] });
    };
    expect(found(podless).notReady?.message).toMatch(
      /is awaited, which may be that of db-0 \(its pod is missing\)$/,
    );
    const broken = { pod: podFixture(0, { obstacle: "CrashLoopBackOff: Bad directive" }), answer: undefined };
    expect(found(broken).notReady?.message).toContain("db-0 (CrashLoopBackOff: Bad directive)");
    const empty = restarted(0, { empty: true });
    expect(found(empty).notReady?.message).toMatch(
      /are there \(db-1\), and .* not among them; .*approve-loss to db-1@0$/,
    );
    expect(found(empty, "db-1").status?.promotion?.server).toBe("db-1");
    expect(found(empty, "db-0").status?.promotion).toBeUndefined();
  });

  test("is not the last primary when it comes back with nothing, and others have data", () => {
    const back = (ordinal: number, keys: number): Partial<Server> => {
      const { answer } = restarted(ordinal);
      return answer?.state === "facts" ? { answer: { ...answer, facts: { ...answer.facts, keys } } } : {};
    };
    const chosen = (mine: number, other: number) =>
      leadership(observedFixture({ servers: [back(0, mine), back(1, other), podless] }));
    expect(chosen(5, 9).status?.promotion?.server).toBe("db-0");
    expect(chosen(0, 0).status?.promotion?.server).toBe("db-0");
    expect(chosen(0, 9).status?.promotion).toBeUndefined();
    expect(chosen(0, 9).notReady?.message).toContain("approve-loss to db-1@3");
  });

  test("waits until links are down, because offsets may still grow", () => {
    const plan = leadership(observedFixture({ replicas: 1, servers: [stopped] }));
    expect(plan.actions).toEqual([{ do: "detach", servers: ["db-1"] }]);
    expect(plan.status?.promotion).toBeUndefined();
  });

  test("says that the data is lost when nobody can come back with it", () => {
    const broken = {
      answer: undefined,
      pod: podFixture(0, { obstacle: "CrashLoopBackOff: Bad file format reading the append only file" }),
    };
    const alone = leadership(observedFixture({ replicas: 0, servers: [broken] }));
    expect(alone.notReady?.message ?? "").not.toContain("restore a backup");
    const stoppedPod = { ...broken, pod: { ...broken.pod, stopped: true } };
    const lost = leadership(observedFixture({ replicas: 0, servers: [stoppedPod] }));
    expect(lost.notReady).toMatchObject({ reason: reasons.dataLost });
    expect(lost.notReady?.message).toContain("restore a backup with spec.restoreFrom");
    expect(lost.notReady?.message).toContain("or set spec.onDelete to Delete, delete the database");
    const upgrade = { from: "7.0", to: "8.0", id: "u", phase: "Replicas" as const, pointOfNoReturn: false };
    const status = { upgrade: { ...upgrade, since: new Date(nowMs).toISOString() } };
    const upgrading = leadership(observedFixture({ replicas: 0, servers: [stoppedPod], status }));
    expect(upgrading.notReady?.message).not.toContain("restore a backup");
    const spec = { onDelete: "Delete" as const };
    const bare = leadership(observedFixture({ replicas: 0, servers: [stoppedPod], spec }));
    expect(bare.notReady?.message).toContain("or delete the database and make it again");
    const hope = leadership(observedFixture({ replicas: 1, servers: [stoppedPod, podless] }));
    expect(hope.notReady).toMatchObject({ reason: reasons.primaryLost });
  });

  test("a handover whose target cannot be asked leaves the decision to a person, and its target runs", () => {
    const handover = { from: "db-0", to: "db-2", why: "" };
    const o = observedFixture({
      ...{ replicas: 1, servers: [stopped, orphan(1), podless] },
      status: { handover, leadership: leadershipFixture(2) },
    });
    const plan = leadership(o);
    expect(plan.status?.promotion).toBeUndefined();
    expect(plan.notReady?.message).toContain("db-2, which must be asked");
    expect(plan.notReady?.message).toContain("approve-loss to db-1@3");
    const claims = new Map(o.servers.map(({ ordinal, claim }) => [ordinal, claim as ClaimView]));
    expect(serversToRun(o, claims)).toBe(2);
    expect(serversToRun({ ...o, status: { ...o.status, ...plan.status } }, claims)).toBe(3);
  });

  test("a replica that was scaled away starts again when nobody else has its data", () => {
    const o = observedFixture({
      ...{ replicas: 0, servers: [stopped, podless] },
      status: { leadership: leadershipFixture(1) },
    });
    const plan = leadership(o);
    const status = { ...o.status, ...plan.status };
    expect(plan.notReady?.message).toContain("until db-0 or db-1 can be asked");
    const claims = new Map(o.servers.map(({ ordinal, claim }) => [ordinal, claim as ClaimView]));
    expect(serversToRun(o, claims)).toBe(1);
    expect(serversToRun({ ...o, status }, claims)).toBe(2);
    claims.delete(1);
    expect(serversToRun({ ...o, status }, claims)).toBe(1);
    const led = leadership(observedFixture({ replicas: 0, status: { leadership: status.leadership } }));
    expect(led.status?.leadership?.awaited).toBeUndefined();
  });

  test("a replica that was scaled away and forgotten starts again when the primary's files are damaged", () => {
    const obstacle = "CrashLoopBackOff: Bad file format reading the append only file";
    const damaged = { answer: undefined, pod: podFixture(0, { stopped: true, obstacle }) };
    const status = { leadership: leadershipFixture(0) };
    const o = observedFixture({ replicas: 0, servers: [damaged, podless], status });
    const plan = leadership(o);
    expect(plan.notReady?.message).toContain("until db-1 can be asked");
    expect(plan.status?.leadership?.awaited).toEqual(["db-1"]);
    const claims = new Map(o.servers.map(({ ordinal, claim }) => [ordinal, claim as ClaimView]));
    expect(serversToRun({ ...o, status: { ...o.status, ...plan.status } }, claims)).toBe(2);

    const next = { ...o.status, ...plan.status };
    const back = leadership(observedFixture({ replicas: 0, servers: [damaged, restarted(1)], status: next }));
    expect(back.notReady?.message).toContain("until db-0 can be asked; to go on with db-1");
    expect(back.notReady?.message).toContain("approve-loss to db-1@3");
    // It tries once more, and stops again.
    const trying = { answer: refused.answer, pod: podFixture(0, { stopped: true }) };
    const again = leadership(observedFixture({ replicas: 0, servers: [trying, restarted(1)], status: next }));
    expect(again.status?.leadership?.awaited).toEqual(["db-1"]);
    const both = leadership(
      observedFixture({
        replicas: 0,
        servers: [damaged, { ...damaged, pod: podFixture(1, { obstacle }) }],
        status: next,
      }),
    );
    expect(both.notReady?.reason).toBe(reasons.dataLost);
  });

  test("a replica that was scaled away and forgotten stays away while the primary may come back", () => {
    const status = { leadership: leadershipFixture(0) };
    const plan = leadership(observedFixture({ replicas: 0, servers: [stopped, podless], status }));
    expect(plan.status?.leadership?.awaited).toEqual([]);
    expect(plan.notReady?.message).toContain("until db-0 can be asked");
  });

  test("a claim that someone deleted keeps nobody from leading while its pod runs", () => {
    const going = (ordinal: number, server: Partial<Server>): Partial<Server> => {
      const { claim } = observedFixture().servers[ordinal] as Server;
      return { ...server, claim: { ...(claim as ClaimView), deleting: true } };
    };
    const alone = observedFixture({ replicas: 0, servers: [going(0, restarted(0))] });
    expect(leadership(alone).status?.promotion?.server).toBe("db-0");
    const ended = { ...podFixture(0), deleting: true };
    const leaving = observedFixture({ replicas: 0, servers: [going(0, { ...restarted(0), pod: ended })] });
    expect(leadership(leaving).status?.promotion).toBeUndefined();
    const equal = observedFixture({ servers: [stopped, going(1, orphan(1)), orphan(2)] });
    expect(leadership(equal).status?.promotion?.server).toBe("db-2");
    const ahead = observedFixture({ servers: [stopped, going(1, orphan(1, 2_000n)), orphan(2)] });
    expect(leadership(ahead).status?.promotion?.server).toBe("db-1");

    // What it says of its data stays true: the process may start again.
    const [first] = observedFixture({ replicas: 0 }).servers;
    const old = { claim: { ...(first?.claim as ClaimView), deleting: true, epoch: 2, primaryEpoch: 2 } };
    const led = leadership(observedFixture({ replicas: 0, servers: [old] }));
    expect(led.actions).toContainEqual(
      expect.objectContaining({ do: "markClaim", epoch: 3, primaryEpoch: 3 }),
    );
    const empty = observedFixture({ replicas: 0, servers: [going(0, restarted(0, { empty: true }))] });
    expect(decide(empty).actions).toMatchObject([{ do: "markClaim", server: "db-0", epoch: 0 }]);
  });
});

describe("a primary that answers but is busy", () => {
  const busy = (message: string, busyMs = 30_000) =>
    ({ answer: { state: "busy", message }, busyMs }) as const;
  const script = "BUSY Redis is busy running a script.";
  const crowd = "ERR max number of clients reached";

  test.each([script, crowd])("is left alone without replicas, however long: %s", (message) => {
    const plan = leadership(observedFixture({ replicas: 0, servers: [busy(message, 3_600_000)] }));
    expect(plan.actions ?? []).toEqual([]);
    expect(plan.notReady?.reason).toBe(reasons.primaryBusy);
    expect(plan.notReady?.message).toContain(message === script ? "SCRIPT KILL" : "raise maxclients");
  });

  test("is left alone while a replica hears it", () => {
    const plan = leadership(observedFixture({ servers: [busy(crowd, 3_600_000)] }));
    expect(plan.actions ?? []).toEqual([]);
    expect(plan.notReady?.reason).toBe(reasons.primaryBusy);
  });

  test("is stopped after a minute in which no replica heard it, or when its pod is deleted", () => {
    const after = (busyMs: number, pod = {}) =>
      leadership(
        observedFixture({
          replicas: 1,
          servers: [{ ...busy(script, busyMs), pod: podFixture(0, pod) }, orphan(1)],
        }),
      );
    expect(after(59_000).actions ?? []).toEqual([]);
    expect(after(60_000).notReady?.reason).toBe(reasons.fencing);
    expect(after(1_000, { deleting: true }).notReady?.reason).toBe(reasons.fencing);
  });
});

test("an answer ends a silence, and a silence does not end being busy", () => {
  const memory = new Memory().of("db");
  const states = ["busy", "silent", "busy", "refused"] as const;
  const times = states.map((state, at) => {
    const answer = { state, message: "" };
    return [memory.silentMs("pod", answer, at * 1_000), memory.busyMs("pod", answer, at * 1_000)];
  });
  expect(times).toEqual([
    [0, 0],
    [1_000, 1_000],
    [0, 2_000],
    [0, 0],
  ]);
});

describe("a primary that is silent", () => {
  test("is left alone while a replica hears it", () => {
    const plan = leadership(observedFixture({ servers: [silent] }));
    expect(plan.notReady?.reason).toBe(reasons.primaryUnreachable);
    expect(plan.actions ?? []).toEqual([]);
  });

  test("is left alone for two seconds", () => {
    const plan = leadership(
      observedFixture({ replicas: 1, servers: [{ ...silent, silentMs: 1_500 }, orphan(1)] }),
    );
    expect(plan.notReady?.reason).toBe(reasons.primaryUnreachable);
    expect(plan.actions ?? []).toEqual([]);
  });

  test("loses its replicas, its label and its pod before another is chosen", () => {
    const plan = leadership(observedFixture({ replicas: 1, servers: [silent, orphan(1)] }));
    expect(plan.actions?.map((action) => action.do)).toEqual(["detach", "label", "deletePod"]);
    expect(plan.status?.fence?.server).toBe("db-0");
    expect(plan.status?.promotion).toBeUndefined();
  });

  const fenced = (sinceMs: number, changes: Parameters<typeof observedFixture>[0] = {}) => {
    const since = new Date(nowMs - sinceMs).toISOString();
    const gone = { ...silent, pod: podFixture(0, { deleting: true, role: "" }) };
    const alone = {
      answer: {
        state: "facts" as const,
        facts: factsFixture(1, { linkUp: false, upstream: { host: "127.0.0.1", port: 1 } }),
      },
    };
    const status = { fence: { server: "db-0", podUid: "pod-0", since }, ...changes.status };
    return observedFixture({
      replicas: 1,
      ...changes,
      servers: [gone, alone, ...(changes.servers ?? [])],
      status,
    });
  };

  test("has stopped for certain when it has had no replicas for longer than its lag", () => {
    expect(leadership(fenced(4_000)).status?.promotion).toBeUndefined();
    expect(leadership(fenced(5_000)).status?.promotion?.server).toBe("db-1");
  });

  test("without a guard has not, however long it takes", () => {
    const leader = observedFixture({ replicas: 1 }).status.leadership as never as object;
    const plan = leadership(fenced(600_000, { status: { leadership: { ...leader, guard: 0 } as never } }));
    expect(plan.status?.promotion).toBeUndefined();
    expect(plan.notReady?.message).toContain("nothing proves that it has stopped");
  });

  test("may serve a replica that cannot be asked, so that its guard proves nothing", () => {
    const plan = leadership(fenced(600_000, { replicas: 2, servers: [podless] }));
    expect(plan.status?.promotion).toBeUndefined();
    expect(plan.notReady?.message).toContain("db-2");
  });
});

describe("a promotion", () => {
  const promotion = {
    server: "db-1",
    runId: "run-1",
    podUid: "pod-1",
    claimUid: "claim-1",
    epoch: 4,
    why: "",
    loss: "",
  };

  test("is made by the process that was chosen", () => {
    const plan = leadership(
      observedFixture({ replicas: 1, servers: [stopped, orphan(1)], status: { promotion } }),
    );
    expect(plan.actions?.[0]).toEqual({ do: "promote", server: "db-1", runId: "run-1" });
  });

  test("is chosen again when that process was restarted", () => {
    const plan = leadership(
      observedFixture({
        servers: [stopped, restarted(1), orphan(2)],
        acknowledgements: 2,
        status: { promotion },
      }),
    );
    expect(plan.status?.promotion).toMatchObject({ server: "db-2", epoch: 5 });
  });

  test("whose target is silent proves nothing by the guard of the primary before", () => {
    const since = new Date(nowMs - 600_000).toISOString();
    const gone = { ...silent, pod: podFixture(1, { deleting: true, role: "" }) };
    const status = { promotion, fence: { server: "db-1", podUid: "pod-1", since } };
    const plan = leadership(observedFixture({ replicas: 1, servers: [stopped, gone], status }));
    expect(plan.status?.promotion).toBeUndefined();
    expect(plan.notReady?.reason).toBe(reasons.fencing);
  });

  test("is recorded when the process leads", () => {
    const facts = factsFixture(1, { role: "primary", replicationId: "c".repeat(40), upstream: undefined });
    const plan = leadership(
      observedFixture({
        replicas: 1,
        servers: [stopped, { answer: { state: "facts", facts } }],
        status: { promotion },
      }),
    );
    expect(plan.status).toMatchObject({ primary: "db-1", epoch: 4, leadership: { guard: 0, followers: [] } });
    expect(plan.status?.promotion).toBeUndefined();
  });
});

describe("the first choice", () => {
  const nobody = { primary: undefined, leadership: undefined, epoch: undefined };
  const fresh = (changes: Parameters<typeof observedFixture>[0]) => {
    const o = observedFixture({ ...changes, status: nobody });
    const servers = o.servers.map((server) => ({
      ...server,
      claim: server.claim && { ...server.claim, epoch: undefined, primaryEpoch: undefined },
    }));
    return { ...o, servers };
  };

  test("is the first server", () => {
    const plan = leadership(
      fresh({ servers: [restarted(0, { empty: true }), restarted(1, { empty: true })] }),
    );
    expect(plan.status?.promotion).toMatchObject({ server: "db-0", epoch: 1 });
  });

  test("is the primary that is there, when only the status is lost", () => {
    const plan = leadership(observedFixture({ status: nobody }));
    expect(plan.status).toMatchObject({ primary: "db-0", epoch: 4 });
  });

  test("is not a primary that was replaced and does not know it, nor one that made way for another", () => {
    const leads = (ordinal: number, guard: number): Partial<Server> => ({
      answer: {
        state: "facts",
        facts: factsFixture(ordinal, { role: "primary", upstream: undefined, linkUp: false, guard }),
      },
    });
    const [first] = observedFixture().servers;
    const claim = first?.claim && { ...first.claim, epoch: 2, primaryEpoch: 2 };
    const old = observedFixture({ servers: [{ ...leads(0, 1), claim }, silent, silent], status: nobody });
    expect(leadership(old).status).toBeUndefined();
    expect(leadership(old).notReady?.message).toContain("db-1");
    const followed = observedFixture({ servers: [{ ...leads(0, 1), claim }], status: nobody });
    expect(leadership(followed).status).toMatchObject({ primary: "db-0", epoch: 4 });
    const both = observedFixture({ servers: [leads(0, 99), leads(1, 0)], status: nobody });
    expect(leadership(both).status).toMatchObject({ primary: "db-1", epoch: 4 });
  });

  test("is the volume that had the newest primary, when all was restarted", () => {
    const plan = leadership(
      observedFixture({ servers: [restarted(0), restarted(1), restarted(2)], status: nobody }),
    );
    expect(plan.status?.promotion).toMatchObject({ server: "db-0", epoch: 4 });
    const waits = leadership(
      observedFixture({ servers: [podless, restarted(1), restarted(2)], status: nobody }),
    );
    expect(waits.status?.promotion).toBeUndefined();
  });
});

describe("a status of an earlier time, as after a restore of the API server", () => {
  const later = "c".repeat(40);
  const replica = (ordinal: number, changes = {}): Partial<Server> => ({
    answer: {
      state: "facts",
      facts: factsFixture(ordinal, {
        replicationId: later,
        upstream: { host: ipOf(1), port: 6379 },
        offset: 900n,
        ...changes,
      }),
    },
  });
  const leading = (secondReplicationId: string): Partial<Server> => ({
    answer: {
      state: "facts",
      facts: factsFixture(1, {
        role: "primary",
        upstream: undefined,
        linkUp: false,
        replicationId: later,
        secondReplicationId,
        offset: 5_000n,
      }),
    },
  });

  test.each([
    ["that went on from the recorded one's history", "a".repeat(40), {}],
    ["that the recorded one follows, after several others", "d".repeat(40), {}],
    ["whose recorded predecessor is cut off from it", "a".repeat(40), { linkUp: false }],
  ])("a primary is found %s", (_, second, changes) => {
    const o = observedFixture({ servers: [replica(0, changes), leading(second), replica(2)] });
    const { status, actions } = leadership(o);
    expect(status).toMatchObject({ primary: "db-1", epoch: 4 });
    expect(actions ?? []).toEqual([]);
  });

  test("a primary is found also when the status has a choice of an earlier time, which was made", () => {
    const promotion = {
      ...{ server: "db-2", runId: "gone", podUid: "gone", claimUid: "claim-2", epoch: 4 },
      ...{ why: "", loss: "" },
    };
    const o = observedFixture({
      servers: [replica(0), leading("d".repeat(40)), replica(2)],
      status: { promotion },
    });
    const { status } = leadership(o);
    expect(status).toMatchObject({ primary: "db-1", promotion: undefined });
  });

  test("one that was told to follow a server that is silent now is not back with its own data", () => {
    const o = observedFixture({
      servers: [replica(0, { linkUp: false }), silent, replica(2, { linkUp: false })],
    });
    expect(leadership(o).status?.promotion).toBeUndefined();
  });

  test("an old primary that does not know it yet is not found", () => {
    const o = observedFixture({ servers: [stopped, leading("e".repeat(40)), orphan(2)] });
    expect(leadership(o).status?.primary).toBeUndefined();
    const status = { leadership: leadershipFixture(2, { lineage: [later] }) };
    const known = observedFixture({ servers: [stopped, leading("e".repeat(40)), orphan(2)], status });
    expect(leadership(known).status?.primary).toBeUndefined();
  });

  test("one that leads and takes no writes is not found: it was given up before it took any", () => {
    const { answer } = leading("a".repeat(40));
    const facts = { ...(answer as { facts: ServerFacts }).facts, guard: closedGuard };
    const status = { leadership: leadershipFixture(2, { lineage: [] }) };
    const servers = [stopped, { answer: { state: "facts" as const, facts } }, orphan(2)];
    const plan = leadership(observedFixture({ acknowledgements: 0, servers, status }));
    expect(plan.status).toMatchObject({ promotion: { server: "db-2" } });
  });

  describe("that remembers who led", () => {
    const status = { leadership: leadershipFixture(2, { lineage: ["b".repeat(40)] }) };
    const cutOff = { linkUp: false };

    test("a primary is found whose history was never recorded", () => {
      const o = observedFixture({ servers: [restarted(0), leading("e".repeat(40)), podless], status });
      expect(leadership(o).status).toMatchObject({ primary: "db-1", epoch: 4 });
    });

    test("the last one of the status does not lead when a replica has the history of another since", () => {
      const o = observedFixture({ servers: [restarted(0), silent, replica(2, cutOff)], status });
      const plan = leadership(o);
      expect(plan.status?.promotion).toBeUndefined();
      expect(plan.status?.leadership?.awaited).toEqual(["db-1"]);
      expect(plan.notReady?.message).toContain("db-2 shows that another server led after it");
      expect(plan.notReady?.message).toContain("until db-1 can be asked");
      expect(plan.notReady?.message).toContain("approve-loss to db-2@3");
      const approved = leadership({ ...o, approvedLoss: "db-2" });
      expect(approved.status?.promotion).toMatchObject({ server: "db-2", loss: "approved by a person" });
    });

    test("nor when a volume has data of a later epoch", () => {
      const o = observedFixture({ servers: [restarted(0), silent, podless], status });
      const servers = o.servers.map((server) =>
        server.name === "db-2" ? { ...server, claim: { ...(server.claim as ClaimView), epoch: 4 } } : server,
      );
      expect(leadership(o).status?.promotion).toMatchObject({ server: "db-0" });
      expect(leadership({ ...o, servers }).status?.promotion).toBeUndefined();
    });

    test("it does when the others have its history, that of one before it, or none yet", () => {
      const before = replica(2, { ...cutOff, replicationId: "b".repeat(40) });
      for (const others of [
        [silent, before],
        [orphan(1), podless],
        [restarted(1), restarted(2)],
      ]) {
        const o = observedFixture({ servers: [restarted(0), ...others], status });
        expect(leadership(o).status?.promotion).toMatchObject({ server: "db-0" });
      }
    });

    test("a choice of an earlier time is not made", () => {
      const promotion = {
        ...{ server: "db-2", runId: "run-2", podUid: "pod-2", claimUid: "claim-2", epoch: 4 },
        ...{ why: "", loss: "" },
      };
      const chosen = { ...status, promotion };
      const found = observedFixture({
        servers: [stopped, leading("e".repeat(40)), replica(2)],
        status: chosen,
      });
      expect(leadership(found).status).toMatchObject({ primary: "db-1", promotion: undefined });
      const awaited = leadership(
        observedFixture({ servers: [stopped, silent, replica(2, cutOff)], status: chosen }),
      );
      expect(awaited.actions ?? []).toEqual([]);
      expect(awaited.notReady?.message).toContain("led after it");
    });

    test("histories are recorded with every change of the primary, and from when all are in sync", () => {
      const well = observedFixture({ status: { leadership: leadershipFixture(2) } });
      expect(leadership(well).status?.leadership?.lineage).toEqual([]);
      const missing = observedFixture({
        servers: [undefined, podless],
        status: { leadership: leadershipFixture(2) },
      });
      expect(leadership(missing).status?.leadership).not.toHaveProperty("lineage");
      const next = observedFixture({ servers: [stopped, leading("e".repeat(40)), podless], status });
      const ids = ["a", "e", "b"].map((letter) => letter.repeat(40));
      expect(leadership(next).status?.leadership?.lineage).toEqual(ids);
    });
  });
});

describe("a handover that was not recorded", () => {
  const target = { runId: "run-1", podUid: "pod-1", claimUid: "claim-1" };
  const handover = { from: "db-0", to: "db-1", why: "", target };
  const next = "c".repeat(40);
  const marked = (o: Observed, primaryEpoch: number): Observed => ({
    ...o,
    servers: o.servers.map((server) =>
      server.name === "db-1"
        ? { ...server, claim: { ...(server.claim as ClaimView), epoch: primaryEpoch, primaryEpoch } }
        : server,
    ),
  });
  const follower = factsFixture(0, {
    upstream: { host: ipOf(1), port: 6379 },
    replicationId: next,
    secondReplicationId: "a".repeat(40),
  });

  test("has given the target nothing to lose while its claim does not say that it leads", () => {
    const o = observedFixture({ servers: [restarted(0), silent, orphan(2)], status: { handover } });
    expect(leadership(o).status?.promotion).toMatchObject({ server: "db-0" });
    const detached = { ...follower, linkUp: false };
    const took = observedFixture({
      servers: [{ answer: { state: "facts", facts: detached } }, silent, orphan(2)],
      status: { handover },
    });
    expect(leadership(took).status?.promotion).toMatchObject({ server: "db-0", loss: "nothing" });
  });

  test("leaves nobody to promote when the claim says that the target leads, which is not reached", () => {
    const o = observedFixture({
      servers: [{ answer: { state: "facts", facts: follower } }, silent, orphan(2)],
      status: { handover },
    });
    const { status } = leadership(marked(o, 4));
    expect(status).toMatchObject({ primary: "db-1", epoch: 4, handover: undefined });
    expect(status?.leadership).toMatchObject({ ...target, replicationId: next, followers: ["db-0"] });
    const then = leadership({ ...marked(o, 4), status: { ...o.status, ...status } });
    expect(then.notReady?.message).toContain("the operator cannot reach db-1, but db-0 can");
  });

  test("is not taken for done when another led since, as the claims say", () => {
    const o = observedFixture({ servers: [podless, silent, orphan(2)], status: { handover } });
    const later = marked(o, 4);
    const servers = later.servers.map((server) =>
      server.name === "db-2" ? { ...server, claim: { ...(server.claim as ClaimView), epoch: 5 } } : server,
    );
    const plan = leadership({ ...later, servers });
    expect(plan.status).not.toHaveProperty("primary");
    expect(plan.status?.promotion).toBeUndefined();
  });
});
