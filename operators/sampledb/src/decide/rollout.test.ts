import { describe, expect, test } from "vitest";
import type { ServerFacts } from "../engine/info.ts";
import { factsOf, type Observed, type Server } from "../observe/observed.ts";
import { leadershipFixture, observedFixture } from "./fixture.ts";
import { leadership } from "./leadership.ts";
import { rollout } from "./rollout.ts";

/** Servers as they were, and a StatefulSet that makes others. */
function outdated(changes: Partial<Observed> = {}): Observed {
  return { ...observedFixture(), setTemplate: "new", wantedTemplate: "new", ...changes };
}

describe("servers that are not as the spec says", () => {
  test("are replaced one at a time, a replica first", () => {
    const { actions } = rollout(outdated());
    expect(actions).toMatchObject([{ do: "deletePod", server: "db-2" }]);
  });

  test("are not missed by writes: the primary's guard no longer counts on the one that goes", () => {
    const o = observedFixture({ replicas: 1, observed: { setTemplate: "new", wantedTemplate: "new" } });
    expect(rollout(o).actions ?? []).toEqual([]);
    expect(leadership(o).status?.leadership?.guard).toBe(0);
    const recorded = { ...o, status: { ...o.status, leadership: leadershipFixture(1, { guard: 0 }) } };
    expect(leadership(recorded).actions).toContainEqual({ do: "setGuard", server: "db-0", guard: 0 });
    const [primary, replica] = o.servers as [Server, Server];
    const facts = { ...factsOf(primary), guard: 0 } as ServerFacts;
    const open = {
      ...recorded,
      servers: [{ ...primary, answer: { state: "facts", facts } as const }, replica],
    };
    expect(rollout(open).actions).toMatchObject([{ do: "deletePod", server: "db-1" }]);
    // It is on its way out, and follows still.
    const going = { ...replica, pod: replica.pod && { ...replica.pod, deleting: true } };
    expect(leadership({ ...open, servers: [open.servers[0] as Server, going] }).actions).not.toContainEqual(
      expect.objectContaining({ do: "setGuard" }),
    );
  });

  test("wait for the one before, also while that still follows and is about to stop", () => {
    const o = outdated();
    const servers = o.servers.map((server) => ({
      ...server,
      pod: server.pod && { ...server.pod, deleting: server.ordinal === 2 },
    }));
    const { actions, notReady } = rollout({ ...o, servers });
    expect(actions ?? []).toEqual([]);
    expect(notReady?.message).toContain("db-1 is replaced when db-2 is in sync");
  });

  test("do not wait for one of an older version, which cannot copy the primary: it goes first", () => {
    const o = outdated();
    const versions = (...found: readonly string[]) =>
      o.servers.map((server, ordinal) => {
        const version = found[ordinal] ?? "";
        const facts = { ...factsOf(server), version, linkUp: version !== "7.0.15" } as ServerFacts;
        return { ...server, answer: { state: "facts", facts } as const };
      });
    const replaced = (servers: Observed["servers"]) => rollout({ ...o, servers }).actions;
    expect(replaced(versions("8.0.2", "7.0.15", "8.0.2"))).toMatchObject([{ server: "db-1" }]);
    expect(replaced(versions("8.0.2", "7.0.15", "7.0.15"))).toMatchObject([{ server: "db-2" }]);
  });

  test("stay as they are while a pod of its own tries the change, and when that fails", () => {
    const trial = { state: "running", message: "it is tried" } as const;
    expect(rollout(outdated({ trial }))).toEqual({
      notReady: expect.objectContaining({ reason: "RollingOut", message: "it is tried" }),
    });
    const failed = rollout(outdated({ trial: { state: "failed", message: "no such image" } }));
    expect(failed).toEqual({ notReady: expect.objectContaining({ reason: "RolloutFailed" }) });
  });

  test("are replaced all at once when TLS is switched on, since both kinds cannot talk to each other", () => {
    const o = outdated();
    const { actions } = rollout({ ...o, spec: { ...o.spec, tls: {} as never } });
    expect(actions?.map((action) => action.do === "deletePod" && action.server)).toEqual([
      "db-0",
      "db-1",
      "db-2",
    ]);
  });
});
