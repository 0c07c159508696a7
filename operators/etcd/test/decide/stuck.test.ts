import { expect, test } from "vitest";
import { refusedGrowth } from "../../src/decide/refused-growth.ts";
import { growth, newerData, stuckMembers } from "../../src/decide/stuck.ts";
import {
  claim,
  cluster,
  crashed,
  down,
  madeFrom,
  obstacle,
  pod,
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

const patch = templateFor({ version: "3.6.17" });
const noImage = (ordinal: number, ...traits: Parameters<typeof voter>[1][]) =>
  voter(ordinal, down, obstacle("ImagePullBackOff: no such image"), ...traits);
const follows = "record RollingOut: example-0 cannot run and follows the spec";
const minor = templateFor({ version: "3.7.3" });

decisions("a member that cannot run the old version", stuckMembers, [
  [
    "takes a patch of the same minor at once",
    cluster([noImage(0), voter(1), voter(2)], { spec: { version: "3.6.17" } }),
    follows,
    { status: { rollout: patch, members: [{ template: patch.hash }, { template: template.hash }, {}] } },
  ],
  [
    "takes a patch without a quorum",
    cluster([noImage(0), noImage(1), voter(2, down)], { spec: { version: "3.6.17" }, quorum: false }),
    "record RollingOut: example-0, example-1 cannot run and follows the spec",
  ],
  [
    "takes a patch in a rollout that is under way",
    cluster([noImage(0), voter(1, madeFrom(patch)), voter(2)], {
      spec: { version: "3.6.17" },
      status: { rollout: { ...patch, index: "900" } },
    }),
    follows,
    { status: { rollout: { hash: patch.hash, index: "900" } } },
  ],
  [
    "does not take a patch that failed before its next attempt",
    cluster([noImage(0), voter(1), voter(2)], {
      spec: { version: "3.6.17" },
      status: {
        failedRollout: {
          hash: patch.hash,
          version: "3.6.17",
          message: "it failed",
          attempts: 1,
          retryAt: "2026-01-01T12:01:00Z",
        },
      },
    }),
    undefined,
  ],
  [
    "takes the rest of the spec when the patch failed",
    cluster([noImage(0), voter(1), voter(2)], {
      spec: { version: "3.6.17", settings },
      status: {
        failedRollout: {
          hash: templateFor({ version: "3.6.17", settings }).hash,
          version: "3.6.17",
          message: "it failed",
          attempts: 1,
          retryAt: "2026-01-01T12:01:00Z",
        },
      },
    }),
    follows,
    { status: { rollout: { hash: next.hash } } },
  ],
  [
    "is not helped by a patch when no node takes it",
    cluster([unschedulable(0, pod({ node: undefined })), voter(1), voter(2)], {
      spec: { version: "3.6.17" },
    }),
    undefined,
  ],
  [
    "does not enter the next minor by itself",
    cluster([noImage(0), voter(1), voter(2)], { spec: { version: "3.7.3" } }),
    undefined,
  ],
  [
    "does not enter the next minor before another member serves from it",
    cluster([noImage(0), voter(1, madeFrom(minor), down), voter(2)], {
      spec: { version: "3.7.3" },
      status: { rollout: minor },
    }),
    undefined,
  ],
  [
    "enters the next minor when another member serves from it",
    cluster([noImage(0), voter(1, madeFrom(minor)), voter(2)], {
      spec: { version: "3.7.3" },
      status: { rollout: minor },
    }),
    follows,
    { status: { rollout: { hash: minor.hash } } },
  ],
  [
    "does not follow a rollout of the next minor that is rolled back",
    cluster([noImage(0), voter(1, madeFrom(minor)), voter(2)], {
      spec: { version: "3.7.3" },
      status: { rollout: { ...minor, rollback: "it failed" } },
    }),
    undefined,
  ],
  [
    "does not go back to an older minor",
    cluster([noImage(0), voter(1), voter(2)], { spec: { version: "3.5.35" } }),
    undefined,
  ],
  [
    "does not take a patch of the old minor while others run the new one",
    cluster([noImage(0), voter(1, madeFrom(minor)), voter(2)], {
      spec: { version: "3.6.17" },
      status: { rollout: minor },
    }),
    undefined,
  ],
  [
    "does not open data of a newer minor",
    cluster([noImage(0, claim({ etcdVersion: "3.7.3" })), voter(1), voter(2)], {
      spec: { version: "3.6.17" },
    }),
    undefined,
  ],
  [
    "does not take a patch of a minor older than what the members agreed on",
    cluster([noImage(0), voter(1), voter(2)], { spec: { version: "3.6.17" }, clusterVersion: "3.7.0" }),
    undefined,
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

const larger = { storage: { size: "2Gi" } };
const refusedUntil = (retryAt: string | undefined, attempts = 1) =>
  three({
    spec: larger,
    status: {
      refusedGrowth: { size: "2Gi", message: "exceeded quota", attempts, ...(retryAt && { retryAt }) },
    },
  });
const grows = "growClaim Resizing: the volume of example-0 grows to 2Gi";

decisions("volumes that are smaller than the spec", growth, [
  ["they have the size of the spec", three(), undefined],
  ["they grow", three({ spec: larger }), grows],
  ["they were refused and wait for the next attempt", refusedUntil("2026-01-01T12:00:30Z"), undefined],
  ["they were refused, and the pause is over", refusedUntil("2026-01-01T12:00:00Z"), grows],
  ["they were refused, and the clock was set back since", refusedUntil("2026-01-01T13:00:00Z"), grows],
  ["they wait for ten minutes after many attempts", refusedUntil("2026-01-01T12:10:00Z", 99), undefined],
  ["they were refused by an operator that noted no time", refusedUntil(undefined), grows],
  [
    "another size was refused",
    three({
      spec: { storage: { size: "3Gi" } },
      status: { refusedGrowth: { size: "2Gi", message: "no", retryAt: "2026-01-01T12:00:30Z" } },
    }),
    "growClaim Resizing: the volume of example-0 grows to 3Gi",
  ],
]);

test.each([
  [0, "2026-01-01T12:00:30.000Z"],
  [1, "2026-01-01T12:01:00.000Z"],
  [98, "2026-01-01T12:10:00.000Z"],
])("a growth that is refused after %i refusals is tried again later", (before, retryAt) => {
  const observed = before === 0 ? three({ spec: larger }) : refusedUntil("2026-01-01T12:00:00Z", before);
  expect(refusedGrowth(observed, "exceeded quota")).toEqual({
    size: "2Gi",
    message: "exceeded quota",
    attempts: before + 1,
    retryAt,
  });
});
