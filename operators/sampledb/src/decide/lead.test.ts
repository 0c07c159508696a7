import { describe, expect, test } from "vitest";
import { factsOf, type Observed, type Server } from "../observe/observed.ts";
import { factsFixture, ipOf, observedFixture, orphan, podFixture, podless, restarted } from "./fixture.ts";
import { leadership } from "./leadership.ts";

describe("a primary that leads", () => {
  test("gets a follower only after that was recorded", () => {
    const leader = observedFixture().status.leadership as NonNullable<Observed["status"]["leadership"]>;
    const unknown = observedFixture({
      servers: [undefined, undefined, restarted(2)],
      status: { leadership: { ...leader, followers: ["db-1"] } },
    });
    const first = leadership(unknown);
    expect(first.actions?.some((action) => action.do === "follow")).toBe(false);
    expect(first.status?.leadership?.followers).toEqual(["db-1", "db-2"]);
    const second = leadership(observedFixture({ servers: [undefined, undefined, restarted(2)] }));
    expect(second.actions).toContainEqual({ do: "follow", servers: ["db-2"], ip: ipOf(0), drop: false });
  });

  test("ends another that thinks it leads, and its clients, and says what was lost", () => {
    const old = factsFixture(1, { role: "primary", offset: 1_500n, upstream: undefined, linkUp: false });
    const facts = factsFixture(0, {
      role: "primary",
      replicationId: "c".repeat(40),
      secondReplicationId: old.replicationId,
      secondOffset: 1_001n,
      upstream: undefined,
    });
    const plan = leadership(
      observedFixture({
        replicas: 1,
        servers: [{ answer: { state: "facts", facts } }, { answer: { state: "facts", facts: old } }],
        status: { lastFailover: { at: "", from: "db-1", to: "db-0", why: "", lost: "" } },
      }),
    );
    expect(plan.actions).toContainEqual({ do: "follow", servers: ["db-1"], ip: ipOf(0), drop: true });
    expect(plan.status?.lastFailover?.lost).toContain("500 bytes");
  });

  test("is not guarded where nobody asks for acknowledgements, and a failover says that nothing bounds the loss", () => {
    const o = observedFixture({ acknowledgements: 0 });
    expect(leadership(o).actions?.some((action) => action.do === "setGuard")).toBe(false);
    const loss = (acknowledgements: number) =>
      leadership(observedFixture({ acknowledgements, servers: [podless, orphan(1), orphan(2)] })).status
        ?.promotion?.loss;
    expect(loss(0)).toBe("writes that no replica had received yet and nobody waited for");
    expect(loss(1)).toContain("at most the last 3 s");
  });

  test("has its guard lowered in the record first, and raised on the server first", () => {
    const alone = observedFixture({
      replicas: 1,
      servers: [
        {
          answer: {
            state: "facts",
            facts: factsFixture(0, { role: "primary", guard: 1, upstream: undefined }),
          },
        },
        podless,
      ],
    });
    expect(leadership(alone).status?.leadership?.guard).toBe(0);
    expect(leadership(alone).actions?.some((action) => action.do === "setGuard")).toBe(false);
    const leader = observedFixture({ replicas: 1 }).status.leadership as NonNullable<
      Observed["status"]["leadership"]
    >;
    const recorded = { ...alone, status: { ...alone.status, leadership: { ...leader, guard: 0 } } };
    expect(leadership(recorded).actions).toContainEqual({ do: "setGuard", server: "db-0", guard: 0 });
  });

  test("hands over when its node is drained, to the replica that is furthest", () => {
    const drained = observedFixture({ servers: [{ nodeCordoned: true }] });
    const plan = leadership(drained);
    expect(plan.status?.handover).toMatchObject({ from: "db-0", to: "db-1" });
    const next = leadership({ ...drained, status: { ...drained.status, handover: plan.status?.handover } });
    expect(next.actions).toContainEqual({
      do: "handOver",
      from: "db-0",
      to: "db-1",
      runId: factsFixture(1).runId,
      epoch: 4,
    });
  });

  test("hands over when its node does not report, and is not well while no Service leads to it", () => {
    const cut = observedFixture({ servers: [{ nodeLost: true }] });
    expect(leadership(cut).status?.handover).toMatchObject({ from: "db-0", to: "db-1" });
    const alone = observedFixture({
      replicas: 0,
      servers: [{ nodeLost: true, pod: podFixture(0, { ready: false }) }],
    });
    expect(leadership(alone).status?.handover).toBeUndefined();
    expect(leadership(alone).notReady?.message).toContain("no Service leads to it");
  });

  test("hands over to whom a person asks for, but not to one that would have to hand over again at once", () => {
    const asked = (changes: Partial<Server>) =>
      leadership(observedFixture({ servers: [undefined, changes], observed: { handOverTo: "db-1" } })).status
        ?.handover;
    expect(asked({})).toMatchObject({ from: "db-0", to: "db-1" });
    expect(asked({ pod: podFixture(1, { template: "older" }) })).toBeUndefined();
    expect(asked({ nodeCordoned: true })).toBeUndefined();
    expect(asked({ nodeLost: true })).toBeUndefined();
    const full = factsFixture(1, { persistenceFailed: true });
    expect(asked({ answer: { state: "facts", facts: full } })).toBeUndefined();
  });

  test("hands over to one whose volume has all data, unless its own pod goes in any case", () => {
    const answer = { state: "facts" as const, facts: factsFixture(1, { rewriting: true }) };
    const drained = (pod: Partial<Server>) =>
      leadership(observedFixture({ replicas: 1, servers: [{ nodeCordoned: true, ...pod }, { answer }] }));
    expect(drained({}).status?.handover).toBeUndefined();
    expect(drained({}).notReady?.message).toContain("has its data on its volume");
    const deleting = { pod: podFixture(0, { deleting: true }) };
    expect(drained(deleting).status?.handover).toMatchObject({ to: "db-1" });
  });

  test("says of a volume in how many databases its data may be, and never fewer than before", () => {
    const marked = (databases: number | undefined, runs: number) => {
      const whole = observedFixture({ replicas: 1 });
      const servers = whole.servers.map((server) => ({
        ...server,
        answer: { ...server.answer, facts: { ...factsOf(server), databases: runs } } as Server["answer"],
        claim: server.claim && { ...server.claim, databases },
      }));
      return leadership({ ...whole, servers }).actions?.filter((action) => action.do === "markClaim");
    };
    expect(marked(undefined, 16)).toMatchObject([
      { server: "db-0", databases: 16 },
      { server: "db-1", databases: 16 },
    ]);
    expect(marked(16, 20)).toMatchObject([{ databases: 20 }, { databases: 20 }]);
    expect(marked(20, 16)).toEqual([]);
  });

  test("says of a volume what it holds only when the server has written it", () => {
    const marksOf = (rewriting: boolean) => {
      const whole = observedFixture({ replicas: 1, status: { epoch: 4 } });
      const servers = whole.servers.map((server) => {
        const facts = server.answer?.state === "facts" ? { ...server.answer.facts, rewriting } : undefined;
        return facts ? { ...server, answer: { state: "facts" as const, facts } } : server;
      });
      const { actions = [] } = leadership({ ...whole, servers });
      return actions.filter((action) => action.do === "markClaim").map(({ server }) => server);
    };
    expect(marksOf(false)).toEqual(["db-0", "db-1"]);
    expect(marksOf(true)).toEqual([]);
  });

  test("hands over when its pod is deleted, as long as a replica stays", () => {
    const whole = observedFixture();
    const deleting = (...ordinals: number[]) => ({
      ...whole,
      servers: whole.servers.map((server) => ({
        ...server,
        pod: server.pod && { ...server.pod, deleting: ordinals.includes(server.ordinal) },
      })),
    });
    expect(leadership(deleting(0)).status?.handover).toMatchObject({ from: "db-0", to: "db-1" });
    expect(leadership(deleting(0, 1)).status?.handover).toMatchObject({ from: "db-0", to: "db-2" });
    expect(leadership(deleting(0, 1, 2)).status?.handover).toBeUndefined();
  });

  test("hands over when its volume is full, to one that can write to its own", () => {
    const whole = observedFixture();
    const full = (...ordinals: number[]) => ({
      ...whole,
      servers: whole.servers.map((server) => {
        const facts = server.answer?.state === "facts" ? server.answer.facts : undefined;
        const persistenceFailed = ordinals.includes(server.ordinal);
        return facts
          ? { ...server, answer: { state: "facts" as const, facts: { ...facts, persistenceFailed } } }
          : server;
      }),
    });
    expect(leadership(full(0)).status?.handover).toMatchObject({ from: "db-0", to: "db-1" });
    expect(leadership(full(0, 1)).status?.handover).toMatchObject({ to: "db-2" });
    const everywhere = leadership(full(0, 1, 2));
    expect(everywhere.status?.handover).toBeUndefined();
    expect(everywhere.notReady).toMatchObject({ reason: "DiskFull" });
  });

  test("that was closed for a handover is opened again when that was given up", () => {
    const closed = factsFixture(0, { role: "primary", guard: 99, upstream: undefined });
    const o = observedFixture({ replicas: 1, servers: [{ answer: { state: "facts", facts: closed } }] });
    expect(leadership(o).actions).toContainEqual({ do: "resume", server: "db-0" });
    const under = { ...o, status: { ...o.status, handover: { from: "db-0", to: "db-1", why: "" } } };
    const kinds = leadership(under).actions?.map((action) => action.do);
    expect(kinds).not.toContain("resume");
  });

  test("that has handed over and does not know it is not followed any more", () => {
    const old = factsFixture(0, { role: "primary", guard: 99, upstream: undefined });
    const next = factsFixture(1, {
      role: "primary",
      replicationId: "c".repeat(40),
      secondReplicationId: "a".repeat(40),
      upstream: undefined,
    });
    const plan = leadership(
      observedFixture({
        replicas: 1,
        servers: [{ answer: { state: "facts", facts: old } }, { answer: { state: "facts", facts: next } }],
        status: { handover: { from: "db-0", to: "db-1", why: "" } },
      }),
    );
    expect(plan.actions ?? []).toEqual([]);
    expect(plan.status).toMatchObject({ primary: "db-1", leadership: { followers: ["db-0"] } });
  });

  test("that handed over is followed by the one it handed over to", () => {
    const facts = factsFixture(1, {
      role: "primary",
      replicationId: "c".repeat(40),
      secondReplicationId: "a".repeat(40),
      upstream: undefined,
    });
    const plan = leadership(
      observedFixture({
        replicas: 1,
        servers: [
          { answer: { state: "facts", facts: factsFixture(0, { upstream: { host: ipOf(1), port: 6379 } }) } },
          { answer: { state: "facts", facts } },
        ],
        status: { handover: { from: "db-0", to: "db-1", why: "" } },
      }),
    );
    expect(plan.status).toMatchObject({ primary: "db-1", leadership: { followers: ["db-0"] } });
  });
});
