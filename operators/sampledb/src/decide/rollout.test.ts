import { describe, expect, test } from "vitest";
import type { Observed } from "../observe/observed.ts";
import { observedFixture } from "./fixture.ts";
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
