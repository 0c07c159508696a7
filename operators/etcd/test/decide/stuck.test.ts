import { expect, test } from "vitest";
import { refusedGrowth } from "../../src/decide/refused-growth.ts";
import { growth, newerData, stuckMembers, stuckVolume } from "../../src/decide/stuck.ts";
import {
  claim,
  cluster,
  crashed,
  down,
  joining,
  madeFrom,
  noPod,
  obstacle,
  pod,
  record,
  says,
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

const others = [voter(1), voter(2)];
const third = templateFor({ settings: { snapshotCount: 7 } });
const failed = { ...next, rollback: "example-0 cannot run" };

decisions("what a member that cannot run may follow", stuckMembers, [
  [
    "nothing before there is a template",
    cluster([unschedulable(0), ...others], { spec: { settings }, status: { template: undefined } }),
    undefined,
  ],
  [
    "what the spec asks for now, though the members go back from what it asked for before",
    cluster([unschedulable(0, record({ template: next.hash })), ...others], {
      spec: { settings: { snapshotCount: 7 } },
      status: { rollout: failed },
    }),
    follows,
    { status: { rollout: { hash: third.hash } } },
  ],
  [
    "not what it goes back from, though the spec asks for that and for another version",
    cluster([unschedulable(0), ...others], {
      spec: { settings, version: "3.7.3" },
      status: { rollout: failed },
    }),
    undefined,
  ],
  [
    "a patch, where nobody knows what the members have agreed on",
    cluster([noImage(0), ...others], { spec: { version: "3.6.17" }, clusterVersion: undefined }),
    follows,
  ],
  [
    "other settings, though its data is of a newer minor",
    cluster([unschedulable(0, claim({ etcdVersion: "3.7.0" })), ...others], { spec: { settings } }),
    follows,
  ],
  [
    "the rollout, where the version that it goes on to is refused by now",
    cluster([unschedulable(0, record({ template: next.hash })), ...others], {
      spec: { version: "3.5.35" },
      status: { rollout: next },
    }),
    follows,
  ],
  [
    "the old template, where it has no pod of the new one and the spec is taken back",
    cluster([voter(0, noPod, record({ template: next.hash })), ...others], { status: { rollout: next } }),
    follows,
    { status: { members: [{ template: template.hash }, {}, {}] } },
  ],
  [
    "what it has, where only its pod is missing",
    cluster([voter(0, noPod), ...others], {
      spec: { settings: { snapshotCount: 7 } },
      status: { rollout: next },
    }),
    undefined,
  ],
]);

const rollingMinor = { spec: { version: "3.7.3" }, status: { rollout: minor } };

decisions("a member that cannot run before a new minor", stuckMembers, [
  [
    "follows when another serves with it",
    cluster([noImage(0), voter(1, madeFrom(minor)), voter(2)], rollingMinor),
    follows,
  ],
  [
    "waits while the other does not serve",
    cluster([noImage(0), voter(1, madeFrom(minor), pod({ ready: false })), voter(2)], rollingMinor),
    undefined,
  ],
  [
    "waits while the other still runs what it ran before",
    cluster([noImage(0), voter(1, madeFrom(minor), says({ version: "3.6.16" })), voter(2)], rollingMinor),
    undefined,
  ],
  [
    "waits while the other serves from another template with that version",
    cluster([noImage(0), voter(1, says({ version: "3.7.3" })), voter(2)], rollingMinor),
    undefined,
  ],
]);

const [old34, old35] = [templateFor({ version: "3.4.45" }), templateFor({ version: "3.5.35" })];
const crashedOn = (made: typeof template, special: object = {}) =>
  cluster([voter(0, madeFrom(made), newer), voter(1, madeFrom(made))], {
    spec: { version: "3.6.16" },
    clusterVersion: undefined,
    ...special,
  });

decisions("a member whose data is newer than its etcd", newerData, [
  ["there is no template", crashedOn(old35, { status: { template: undefined } }), undefined],
  [
    "from 3.4: nobody knows where the old log ends",
    crashedOn(old34, { status: { template: old34 } }),
    "record RollingOut: example-0 has data of a newer etcd than 3.4.45",
    { status: { template: { recipe: { version: "3.5.35" } }, oldLog: { index: "0" } } },
  ],
  [
    "from 3.4 in a rollout, which says where the old log ends",
    crashedOn(old34, { status: { template: old34, rollout: { ...old35, index: "77" } } }),
    "record RollingOut: example-0 has data of a newer etcd than 3.4.45",
    { status: { template: { hash: old35.hash }, oldLog: { index: "77" } } },
  ],
  [
    "from 3.5, where the rollout has other settings than the spec by now",
    crashedOn(old35, {
      status: {
        template: old35,
        rollout: templateFor({ version: "3.6.16", settings: { snapshotCount: 9 } }),
      },
    }),
    "record RollingOut: example-0 has data of a newer etcd than 3.5.35",
    { status: { template: templateFor({ version: "3.6.16", settings: { snapshotCount: 9 } }) } },
  ],
]);

test("from 3.5 on the old log is of no interest", () => {
  const decision = newerData(crashedOn(old35, { status: { template: old35 } }));
  expect(decision).toMatchObject({ do: "record" });
  expect((decision as { status: object }).status).not.toHaveProperty("oldLog");
});

const grown = claim({ needsRestart: true });

decisions("a member that does not run and whose volume has grown", stuckVolume, [
  ["none has grown", cluster([unschedulable(0), ...others]), undefined],
  [
    "it restarts, with or without a quorum",
    cluster([voter(1), unschedulable(0, grown)], { quorum: false }),
    "deletePods Resizing: example-0 restarts to use its larger volume",
    { members: ["example-0"] },
  ],
  ["it runs", cluster([voter(0, grown), ...others]), undefined],
  [
    "its pod is not needed any more",
    cluster([joining(0, grown, down, obstacle("no image")), ...others]),
    undefined,
  ],
]);
