/** How soon the operator looks again: soon at what passes by itself in moments, and rarely at what waits for a person. */
import { expect, test } from "vitest";
import {
  alarm,
  behind,
  claim,
  cluster,
  down,
  leaderless,
  learner,
  leaving,
  madeFrom,
  noPod,
  pod,
  secondsAgo,
  seed,
  silent,
  template,
  templateFor,
  three,
  trial,
  volumeGone,
  voter,
} from "../../test/decide/observed.ts";
import type { Observed } from "../observe/observed.ts";
import { lockedOut, secretMissing } from "./access.ts";
import { bootstrap } from "./bootstrap.ts";
import { decide } from "./decide.ts";
import type { Policy } from "./decision.ts";
import { unhealthyVoters } from "./heal.ts";
import { joining } from "./join.ts";
import { leaving as leave } from "./leaving.ts";
import { quorumLoss, recovering } from "./quorum-loss.ts";
import { rollout } from "./rollout.ts";
import { unknownVoters } from "./unknown.ts";
import { noSpace, volumes } from "./upkeep.ts";

const next = templateFor({ settings: { snapshotCount: 5 } });
const newMinor = templateFor({ version: "3.7.3" });
const old = templateFor({ version: "3.5.35" });
const asked = { spec: { settings: { snapshotCount: 5 } } };
const stranger = { id: "999", name: "", peerUrls: [], clientUrls: [], learner: false };
const recovery = { survivor: "example-0", revision: "100", lost: "nothing" };
const without = (special: object = {}) =>
  cluster([voter(0, leaderless), voter(1, volumeGone), voter(2, volumeGone)], {
    unavailableSinceMs: secondsAgo(200),
    ...special,
    quorum: false,
  });
const proposed = () => {
  const decision = quorumLoss(without());
  if (decision?.do !== "record") throw new Error("nothing is proposed");
  return without({ status: { recovery: decision.status.recovery } });
};
const formed = (seedPod: object) => cluster([seed(0, pod(seedPod))], { status: { clusterId: undefined } });

const rows: readonly (readonly [string, Policy, Observed, number])[] = [
  ["a Secret is missing", secretMissing, three({ secretProblem: "it is not there" }), 5_000],
  ["etcd refuses the password", lockedOut, three({ authentication: "out" }), 5_000],
  ["the cluster is paused", decide, three({ spec: { paused: true } }), 10_000],
  ["a member belongs to another cluster", decide, three({ status: { clusterId: "c2" } }), 10_000],
  ["the seed starts", bootstrap, formed({}), 500],
  ["a voter does not serve", unhealthyVoters, cluster([voter(0), voter(1), voter(2, down)]), 1_000],
  ["a learner starts", joining, cluster([voter(0), learner(1, noPod)]), 500],
  ["a learner catches up", joining, cluster([voter(0), learner(1, behind(900))]), 500],
  [
    "a leader that does not answer leaves",
    leave,
    cluster([voter(1), voter(2), leaving(0, silent)], { list: three().list as never }),
    500,
  ],
  ["no member answers", quorumLoss, cluster([voter(0, silent), voter(1, silent)], { quorum: false }), 1_000],
  ["voters start", quorumLoss, cluster([voter(0, down), voter(1, down)], { quorum: false }), 500],
  ["a majority was just lost", quorumLoss, without({ unavailableSinceMs: secondsAgo(1) }), 1_000],
  ["a person is to approve a recovery", quorumLoss, proposed(), 10_000],
  [
    "the survivor starts alone",
    recovering,
    without({ status: { recovery: { ...recovery, phase: "Forcing" } } }),
    500,
  ],
  [
    "the survivor restarts",
    recovering,
    cluster([voter(0, down)], { quorum: false, status: { recovery: { ...recovery, phase: "Restarting" } } }),
    500,
  ],
  ["a rollout waits for a member", rollout, cluster([voter(0), voter(1, down)], asked), 1_000],
  [
    "a rollout waits for changes",
    rollout,
    cluster([voter(0, madeFrom(old))], { status: { template: old, oldLog: { index: "1000" } } }),
    5_000,
  ],
  ["a trial stops", rollout, three({ ...asked, trials: [trial(next, { deleting: true })] }), 1_000],
  ["a trial runs", rollout, three({ ...asked, trials: [trial(next)] }), 1_000],
  [
    "a rollout under way waits for a member",
    rollout,
    cluster([voter(0), voter(1, down)], { ...asked, status: { rollout: next } }),
    1_000,
  ],
  [
    "the last member is to take a new minor",
    rollout,
    cluster([voter(0), voter(1, madeFrom(newMinor), pod({ readyChangedMs: secondsAgo(14) }))], {
      spec: { version: "3.7.3" },
      status: {
        rollout: newMinor,
        comparison: { purpose: `rollout/${newMinor.hash}/1/a0,a1`, revision: "1", odd: [], agreed: true },
      },
    }),
    1_000,
  ],
  ["a voter is unknown", unknownVoters, three({ unknownMembers: [stranger] }), 5_000],
  [
    "data fills the quota",
    noSpace,
    three({
      alarms: [alarm("NOSPACE", 0)],
      spec: { storage: { size: "1Gi", quotaBytes: 1_000 } as never },
      status: {
        template: { ...template, recipe: { ...template.recipe, quotaBytes: 1_000 } },
        space: { revision: "100" } as never,
      },
    }),
    10_000,
  ],
  [
    "etcd has no space and no leader",
    noSpace,
    cluster([voter(0, leaderless)], { alarms: [alarm("NOSPACE", 0)] }),
    1_000,
  ],
  [
    "a volume has grown",
    volumes,
    cluster([voter(0), voter(1, claim({ needsRestart: true })), voter(2, down)]),
    1_000,
  ],
  ["volumes grow", volumes, three({ spec: { storage: { size: "2Gi" } as never } }), 200],
];

test.each(rows)("%s: it looks again after $3 ms", (_, policy, observed, recheckMs) => {
  expect(policy(observed)).toMatchObject({ do: "wait", recheckMs });
});
