import { expect } from "vitest";
import { stuckMembers } from "../../src/decide/stuck.ts";
import { cluster, down, obstacle, record, template, templateFor, voter } from "./observed.ts";
import { decisions } from "./table.ts";

const next = templateFor({ settings: { snapshotCount: 5 } });
const unschedulable = (ordinal: number, ...traits: Parameters<typeof voter>[1][]) =>
  voter(ordinal, down, obstacle("Unschedulable: too large"), ...traits);

decisions("a member that cannot run", stuckMembers, [
  ["is as the spec says", cluster([unschedulable(0), voter(1), voter(2)]), undefined],
  [
    "follows the spec at once, and the others after it",
    cluster([unschedulable(0), voter(1), voter(2)], { spec: { settings: { snapshotCount: 5 } } }),
    "record RollingOut: example-0 cannot run and follows the spec",
    {
      status: {
        rollout: { hash: next.hash },
        members: [{ template: next.hash }, { template: template.hash }, { template: template.hash }],
      },
    },
  ],
  [
    "goes back with the spec, which the others already follow",
    cluster([unschedulable(0, record({ template: next.hash })), voter(1), voter(2)]),
    "record RollingOut: example-0 cannot run and follows the spec",
    { status: { rollout: expect.toSatisfy((rollout) => rollout === undefined) } },
  ],
]);
