import { expect } from "vitest";
import { newerData, stuckMembers } from "../../src/decide/stuck.ts";
import {
  cluster,
  crashed,
  down,
  madeFrom,
  obstacle,
  record,
  template,
  templateFor,
  three,
  volumeGone,
  voter,
} from "./observed.ts";
import { decisions } from "./table.ts";

const settings = { snapshotCount: 5 };
const next = templateFor({ settings });
const unschedulable = (ordinal: number, ...traits: Parameters<typeof voter>[1][]) =>
  voter(ordinal, down, obstacle("Unschedulable: too large"), ...traits);

decisions("a member that cannot run", stuckMembers, [
  ["is as the spec says", cluster([unschedulable(0), voter(1), voter(2)]), undefined],
  [
    "follows the spec at once, and the others after it",
    cluster([unschedulable(0), voter(1), voter(2)], { spec: { settings } }),
    "record RollingOut: example-0 cannot run and follows the spec",
    {
      status: {
        rollout: { hash: next.hash },
        members: [{ template: next.hash }, { template: template.hash }, { template: template.hash }],
      },
    },
  ],
  [
    "follows the spec in a rollout that is under way",
    cluster([unschedulable(0), voter(1), voter(2)], { spec: { settings }, status: { rollout: next } }),
    "record RollingOut: example-0 cannot run and follows the spec",
  ],
  [
    "returns from a rollout that failed, though the spec still asks for it",
    cluster([unschedulable(0), voter(1), voter(2)], {
      spec: { settings },
      status: { rollout: { ...next, rollback: "example-0 cannot run" } },
    }),
    undefined,
  ],
  [
    "has lost its data: no spec helps it",
    cluster([unschedulable(0, volumeGone), voter(1), voter(2)], { spec: { settings } }),
    undefined,
  ],
  [
    "goes back with the spec, which the others already follow",
    cluster([unschedulable(0, record({ template: next.hash })), voter(1), voter(2)]),
    "record RollingOut: example-0 cannot run and follows the spec",
    { status: { rollout: expect.toSatisfy((rollout) => rollout === undefined) } },
  ],
]);

const newer = crashed("invalid downgrade; server version is lower than determined cluster version");
const newMinor = templateFor({ version: "3.7.3" });
const all = (hash: string) => [{ template: hash }, { template: hash }];
const told = "record RollingOut: example-0, example-1 has data of a newer etcd than 3.6.16";

decisions("data of a newer minor than what runs", newerData, [
  ["all members run", three(), undefined],
  [
    "the next minor runs, as the spec asks",
    cluster([voter(0, newer), voter(1, newer)], { spec: { version: "3.7.1" } }),
    told,
    {
      status: {
        template: { recipe: { version: "3.7.1" } },
        members: all(templateFor({ version: "3.7.1" }).hash),
      },
    },
  ],
  [
    "the next minor runs, whatever the spec asks for",
    cluster([voter(0, newer), voter(1, newer)]),
    told,
    { status: { template: { recipe: { version: "3.7.3" } }, members: all(newMinor.hash) } },
  ],
  [
    "the members have agreed on it, and would not come back from a restart",
    cluster([voter(0), voter(1)], { clusterVersion: "3.7.0" }),
    told,
    { status: { template: newMinor, members: all(newMinor.hash) } },
  ],
  [
    "a rollout is about to end",
    cluster([voter(0), voter(1)], { clusterVersion: "3.7.0", status: { rollout: newMinor } }),
    undefined,
  ],
  [
    "a rollout of the old minor began before they agreed",
    cluster([voter(0), voter(1)], {
      clusterVersion: "3.7.0",
      status: { rollout: templateFor({ settings: { snapshotCount: 5 } }) },
    }),
    told,
    {
      status: {
        template: newMinor,
        rollout: expect.toSatisfy((rollout) => rollout === undefined),
        members: all(newMinor.hash),
      },
    },
  ],
  [
    "there is no way back in a rollout",
    cluster([voter(0, newer), voter(1, newer)], {
      status: { rollout: { ...newMinor, rollback: "it failed", index: "900" } },
    }),
    told,
    {
      status: {
        template: newMinor,
        rollout: expect.toSatisfy((rollout) => rollout === undefined),
        members: all(newMinor.hash),
      },
    },
  ],
  [
    "its pod is about to be replaced",
    cluster([voter(0, newer, record({ template: newMinor.hash })), voter(1, madeFrom(newMinor))], {
      status: { template: newMinor },
    }),
    undefined,
  ],
  [
    "nobody knows a newer minor",
    cluster([voter(0, madeFrom(newMinor), newer)], { status: { template: newMinor } }),
    undefined,
  ],
]);
