import { describe, expect, test } from "vitest";
import { type DrillDecision, decideDrill, type ObservedDrill } from "./decide-drill.ts";
import { type DrillObject, type DrillStatus, drillKind } from "./drill.ts";

const Drill = drillKind("test.keelson.dev");
const start = Date.parse("2026-01-01T00:00:00Z");

function drillOf(spec: object, status?: DrillStatus): DrillObject {
  const { spec: whole } = Drill.parse(
    Drill.object({
      metadata: { name: "d", namespace: "default" },
      spec: { target: { kind: "App", name: "app" }, fault: "DeletePod", ...spec } as never,
    }),
  );
  const metadata = {
    name: "d",
    namespace: "default",
    uid: "u",
    generation: 1,
    creationTimestamp: "2026-01-01T00:00:00Z",
  };
  return { metadata, spec: whole, ...(status && { status }) } as never;
}

function pod(
  name: string,
  more: { ready?: boolean; uid?: string; restarts?: number; shared?: boolean } = {},
) {
  const { ready = true, uid = `uid-${name}`, restarts = 0, shared = true } = more;
  return {
    metadata: { name, namespace: "default", uid, labels: { role: name } },
    spec: { shareProcessNamespace: shared, containers: [{ name: "app" }], volumes: [{ name: "data" }] },
    status: {
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
      containerStatuses: [{ name: "app", restartCount: restarts }],
    },
  } as never as ObservedDrill["pods"][number];
}

const well = {
  metadata: { generation: 1 },
  status: { observedGeneration: 1, conditions: [{ type: "Ready", status: "True" }] },
};
const sick = {
  metadata: {},
  status: { conditions: [{ type: "Degraded", status: "True", message: "two are missing" }] },
};

function observed(changes: Partial<ObservedDrill> = {}): ObservedDrill {
  return {
    drill: drillOf({}),
    target: well,
    pods: [pod("a"), pod("b")],
    schedule: undefined,
    other: undefined,
    strikes: new Map(),
    client: { wanted: false },
    nowMs: start,
    choose: (pods, count) => pods.slice(0, count),
    ...changes,
  };
}

/** The same drill after the status of a decision was stored. */
function after(
  o: ObservedDrill,
  { status }: DrillDecision,
  changes: Partial<ObservedDrill> = {},
): ObservedDrill {
  return { ...o, drill: { ...o.drill, status } as never, ...changes };
}

/** A run up to the moment at which the fault was done. */
function struck(o: ObservedDrill): ObservedDrill {
  const prepared = after(o, decideDrill(o));
  const ready = after(prepared, decideDrill(prepared));
  const strike = decideDrill(ready);
  expect(strike.do).toBe("strike");
  return after(ready, strike);
}

describe("a drill begins", () => {
  test("once, when its target is well", () => {
    const o = observed();
    const first = decideDrill(o);
    expect(first).toMatchObject({
      do: "prepare",
      status: { phase: "Running", run: { victims: [{ name: "a" }] } },
    });
  });

  test.each([
    ["is degraded", { target: sick }, "two are missing"],
    ["has a pod that is not ready", { pods: [pod("a"), pod("b", { ready: false })] }, "pod b is not ready"],
    ["does not exist", { target: undefined }, "does not exist"],
    ["has not noticed its spec", { target: { ...well, metadata: { generation: 2 } } }, "not noticed"],
    ["is being drilled by another", { other: "e" }, "the drill e runs on it"],
  ])("never while the target %s", (_, changes, words) => {
    const decision = decideDrill(observed(changes as Partial<ObservedDrill>));
    expect(decision).toMatchObject({ do: "rest", reason: "TargetNotWell" });
    expect(decision.message).toContain(words);
  });

  test("never beyond its budget", () => {
    const all = observed({ drill: drillOf({ victims: { all: true } }) });
    expect(decideDrill(all)).toMatchObject({ do: "rest", reason: "NoVictims" });
    const many = { at: "2026-01-01T00:00:00Z", fault: "Kill", victims: [], recovered: true };
    const spent = drillOf({ schedule: "* * * * *", budget: { runsPerDay: 2 } }, { results: [many, many] });
    const due = { do: "take", at: new Date(start), lastScheduled: "", next: undefined } as const;
    expect(decideDrill(observed({ drill: spent, schedule: due }))).toMatchObject({ reason: "BudgetSpent" });
  });

  test("as often in a day as the budget allows, also when that is more than the results that are kept", () => {
    const at = (minutes: number) => new Date(start - minutes * 60_000).toISOString();
    const runs = (count: number) => Array.from({ length: count }, (_, index) => at(index + 1));
    const result = (time: string) => ({ at: time, fault: "Kill", victims: [], recovered: true });
    const due = { do: "take", at: new Date(start), lastScheduled: "", next: undefined } as const;
    const drill = (count: number, older: readonly string[] = []) =>
      drillOf(
        { schedule: "* * * * *", budget: { runsPerDay: 24 } },
        { results: runs(20).map(result), lastDay: [...runs(count), ...older] },
      );
    expect(decideDrill(observed({ drill: drill(24), schedule: due }))).toMatchObject({
      reason: "BudgetSpent",
    });
    const yesterday = [at(24 * 60 + 1)];
    expect(decideDrill(observed({ drill: drill(23, yesterday), schedule: due })).do).toBe("prepare");
  });

  test("with labels, on pods that have them", () => {
    const drill = drillOf({ victims: { labels: { role: "b" } } });
    expect(decideDrill(observed({ drill })).status.run?.victims).toMatchObject([{ name: "b" }]);
  });

  test("with signals only where they arrive", () => {
    const drill = drillOf({ fault: "Kill" });
    const closed = decideDrill(observed({ drill, pods: [pod("a", { shared: false })] }));
    expect(closed.message).toContain("shareProcessNamespace");
  });

  test("its fault when the client works, and not at all when the target has fallen ill meanwhile", () => {
    const o = observed({ client: { wanted: true } });
    const waits = after(o, decideDrill(o), { client: { wanted: true, problem: "no answer" } });
    expect(decideDrill(waits)).toMatchObject({ do: "prepare" });
    const report = { acknowledged: 5, lost: 0, longestGapMs: 10 };
    expect(decideDrill({ ...waits, client: { wanted: true, report } }).status.run?.phase).toBe("Striking");
    const ill = decideDrill({ ...waits, target: sick });
    expect(ill).toMatchObject({ do: "end", status: { failures: 0 } });
    expect(ill.status.results?.[0]?.message).toContain("two are missing");
  });
});

describe("a drill ends", () => {
  test("when the victim was replaced and the target was well for a while, and says how long that took", () => {
    const o = struck(observed());
    expect(decideDrill({ ...o, nowMs: start + 500 })).toMatchObject({ do: "watch" });
    const replaced = { pods: [pod("a", { uid: "new" }), pod("b")] };
    const gone = after(o, decideDrill({ ...o, nowMs: start + 600, target: sick }), { target: sick });
    const back = { ...gone, ...replaced, target: well, nowMs: start + 3_000 };
    const settling = decideDrill(back);
    expect(settling).toMatchObject({
      do: "watch",
      status: { run: { wellSince: "2026-01-01T00:00:03.000Z" } },
    });
    const end = decideDrill({ ...after(back, settling), nowMs: start + 5_100 });
    expect(end).toMatchObject({ do: "end", status: { failures: 0 } });
    expect(end.status.results?.[0]).toMatchObject({
      recovered: true,
      recoveredAfterSeconds: 3,
      victims: ["a"],
    });
    expect(end.status.run).toBeUndefined();
    expect(decideDrill(after(back, end))).toMatchObject({ do: "rest", status: { phase: "Done" } });
  });

  test("with what its client lost", () => {
    const report = { acknowledged: 100, lost: 3, longestGapMs: 1_234 };
    const o = struck(observed({ client: { wanted: true, report } }));
    const back = { ...o, pods: [pod("a", { uid: "new" }), pod("b")], nowMs: start + 1_000 };
    const end = decideDrill({ ...after(back, decideDrill(back)), nowMs: start + 4_000 });
    expect(end.status.results?.[0]).toMatchObject({ acknowledged: 100, lost: 3, longestGapSeconds: 1.23 });
    expect(end.status.failures).toBe(1);
  });

  test("without recovery when its time is over, and then no other run begins", () => {
    const o = struck(observed());
    const end = decideDrill({ ...o, target: sick, nowMs: start + 301_000 });
    expect(end.status.results?.[0]).toMatchObject({ recovered: false });
    const next = after(o, end);
    expect(decideDrill(next)).toMatchObject({ do: "rest", status: { phase: "Stopped" } });
    const changed = {
      ...next,
      drill: { ...next.drill, metadata: { ...next.drill.metadata, generation: 2 } },
    };
    expect(decideDrill(changed as never).do).toBe("prepare");
  });

  test("a kill when a container was restarted, a cut when its time is over", () => {
    const killed = struck(observed({ drill: drillOf({ fault: "Kill" }) }));
    const later = (o: ObservedDrill, ms: number) => ({ ...after(o, decideDrill(o)), nowMs: start + ms });
    expect(decideDrill(later(killed, 10_000)).do).toBe("watch");
    expect(decideDrill({ ...later(killed, 10_000), pods: [pod("a", { restarts: 1 }), pod("b")] }).do).toBe(
      "end",
    );
    const cut = struck(observed({ drill: drillOf({ fault: "CutOff", durationSeconds: 20 }) }));
    expect(decideDrill(later(cut, 10_000)).do).toBe("watch");
    expect(decideDrill(later(cut, 20_000)).do).toBe("end");
  });

  test("as no failure of the target when the fault could not be done", () => {
    const o = struck(observed({ drill: drillOf({ fault: "FillDisk" }) }));
    const strikes = new Map([["uid-a", { state: "failed", message: "it has no limit" } as const]]);
    expect(decideDrill({ ...o, strikes })).toMatchObject({ do: "end", status: { failures: 0 } });
  });
});
