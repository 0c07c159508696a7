/** Operators that say what is not so of data, and worlds that lose it: an oracle says so each time. */
import { PersistentVolumeClaim, Pod } from "keelson/kinds";
import { describe, expect, test } from "vitest";
import { EtcdBackup } from "../../src/api/backup.ts";
import { EtcdCluster } from "../../src/api/cluster.ts";
import { decide } from "../../src/decide/decide.ts";
import type { Decision } from "../../src/decide/decision.ts";
import type { Observed } from "../../src/observe/observed.ts";
import { type Happening, named, scenario, spec } from "./scenario.ts";
import { type EtcdWorld, ref } from "./subject.ts";

const three = "three members";
const untrue = "what is said of data is true";
const lost = "acknowledged data is never lost";

const destroyClaim =
  (name: string) =>
  async ({ client }: EtcdWorld) => {
    await client.kind(PersistentVolumeClaim).delete(named(name));
    await client.kind(Pod).delete(named(name));
  };
const wipe =
  (...names: string[]) =>
  ({ simulation }: EtcdWorld) => {
    for (const name of names) {
      delete simulation.volumes.of(ref.namespace, name)?.data;
      simulation.kubelet.crash(name);
    }
  };
const remove = async ({ client }: EtcdWorld) => void (await client.kind(EtcdCluster).delete(ref));
const backedUp = spec({ deletion: { finalBackup: { claim: { name: "vault" } } } });

describe("an operator that is wrong about data is found out", { timeout: 60_000 }, () => {
  const says = (message: string) => (): Decision => ({ do: "wait", reason: "NoQuorum", message });
  const offersMore = (o: Observed): Decision => {
    const decision = decide(o);
    if (decision.do !== "record" || decision.status.recovery?.phase !== "Proposed") return decision;
    const recovery = { ...decision.status.recovery, revision: "4711" };
    return { ...decision, status: { ...decision.status, recovery } };
  };
  const evicts = (o: Observed): Decision => {
    const members = o.members.map(({ record }) =>
      record.name === "example-1"
        ? { ...record, phase: "Leaving" as const, message: "its volume is gone" }
        : record,
    );
    return { do: "record", status: { members }, reason: "Healing", message: "example-1 is to leave" };
  };
  const lies: [string, (o: Observed) => Decision, readonly Happening[], string][] = [
    ["that a volume is gone", says("waiting (example-1: its volume is gone)"), [], untrue],
    [
      "that all data is kept",
      says("hibernated: no member runs, all data is kept"),
      [[0, destroyClaim("example-1")]],
      untrue,
    ],
    ["about what a survivor has", offersMore, [[0, wipe("example-0", "example-1")]], untrue],
    ["about why a member leaves", evicts, [], "no member with its data is removed for having lost it"],
  ];
  test.each(lies)("%s", async (_, decide, happenings, oracle) => {
    const long: Happening = [120_000, () => {}];
    await expect(scenario(three, [...happenings, long], { decide })).rejects.toThrow(oracle);
  });
});

describe("data that is gone is missed", { timeout: 60_000 }, () => {
  const ends: [string, readonly Happening[], string][] = [
    [
      "from the volumes of a deleted cluster",
      [
        [0, remove],
        [20_000, wipe("example-0", "example-1")],
      ],
      lost,
    ],
    [
      "from its final backup",
      [
        [0, backedUp],
        [0, remove],
        [
          40_000,
          ({ application: { tasks } }) => {
            for (const [name, found] of tasks.vault) tasks.vault.set(name, { ...found, entries: [] });
          },
        ],
      ],
      lost,
    ],
    [
      "with its final backup",
      [
        [0, backedUp],
        [0, remove],
        [
          40_000,
          async ({ client }) => {
            for (const { metadata } of (await client.kind(EtcdBackup).list(ref)).items)
              await client.kind(EtcdBackup).delete(named(metadata.name));
          },
        ],
      ],
      "a cluster goes only after its final backup",
    ],
    [
      "from the store",
      [
        [0, backedUp],
        [0, remove],
        [40_000, ({ application }) => application.tasks.vault.clear()],
      ],
      "every backup that is done lies in the store",
    ],
  ];
  test.each(ends)("%s", async (_, happenings, oracle) => {
    await expect(scenario(three, happenings)).rejects.toThrow(oracle);
  });
});
