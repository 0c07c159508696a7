import { expect } from "vitest";
import { stuckMembers } from "../../src/decide/stuck.ts";
import { cluster, down, obstacle, record, template, templateFor, volumeGone, voter } from "./observed.ts";
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
