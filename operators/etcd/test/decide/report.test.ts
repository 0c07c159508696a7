/** What the status and the conditions say, by observed state and decision. */
import { describe, expect, it } from "vitest";
import { type Reason, reasons } from "../../src/api/conditions.ts";
import type { Decision } from "../../src/decide/decision.ts";
import { conditionsOf, statusOf } from "../../src/decide/report.ts";
import type { Observed } from "../../src/observe/observed.ts";
import {
  alarm,
  behind,
  cluster,
  down,
  learner,
  madeFrom,
  noPod,
  record,
  type Special,
  says,
  silent,
  templateFor,
  three,
  voter,
} from "./observed.ts";

const waiting = (reason: Reason): Decision => ({ do: "wait", reason, message: "it waits" });
const rest: Decision = { do: "nothing", reason: reasons.healthy, message: "3 members serve" };

describe("conditions", () => {
  const sick = cluster([voter(0), voter(1), voter(2, down)]);
  const blind = three({ quorum: false });
  const rows: readonly (readonly [string, Observed, Decision, string, string, string])[] = [
    ["every member serves", three(), rest, "True Quorum", "False Healthy", "False Healthy"],
    ["there is no quorum", blind, waiting("NoQuorum"), "False NoQuorum", "True NoQuorum", "True NoQuorum"],
    [
      "no member can be reached",
      blind,
      waiting("MembersUnreachable"),
      "Unknown MembersUnreachable",
      "False MembersUnreachable",
      "True MembersUnreachable",
    ],
    [
      "it hibernates",
      cluster([voter(0, noPod)], { quorum: false }),
      { ...rest, reason: "Hibernated" },
      "False Hibernated",
      "False Hibernated",
      "False Healthy",
    ],
    ["it will hibernate", sick, waiting("Hibernating"), "True Quorum", "True Hibernating", "False Healthy"],
    ["it forms", sick, waiting("Bootstrapping"), "True Quorum", "True Bootstrapping", "False Healthy"],
    [
      "a voter does not serve",
      sick,
      waiting("Growing"),
      "True Quorum",
      "True Growing",
      "True MembersUnhealthy",
    ],
    [
      "a learner does not serve",
      cluster([voter(0), learner(1, down)]),
      waiting("Growing"),
      "True Quorum",
      "True Growing",
      "False Healthy",
    ],
    ["it heals", sick, waiting("Healing"), "True Quorum", "True Healing", "True Healing"],
    [
      "the spec is refused",
      three(),
      { do: "refuse", reason: "SpecRefused", message: "no" },
      "True Quorum",
      "False SpecRefused",
      "True SpecRefused",
    ],
    ["it is paused", three(), waiting("Paused"), "True Quorum", "False Paused", "False Healthy"],
    ["quorum is lost", blind, waiting("QuorumLost"), "False NoQuorum", "False QuorumLost", "True QuorumLost"],
    [
      "a Secret is missing",
      three(),
      waiting("SecretMissing"),
      "True Quorum",
      "False SecretMissing",
      "True SecretMissing",
    ],
    [
      "a rollout is under way",
      three(),
      waiting("RollingOut"),
      "True Quorum",
      "True RollingOut",
      "False Healthy",
    ],
  ];
  it.each(rows)("%s", (_state, observed, decision, available, progressing, degraded) => {
    const found = conditionsOf(observed, decision).map(
      ({ type, status, reason }) => `${type}=${status} ${reason}`,
    );
    expect(found).toEqual([`Available=${available}`, `Progressing=${progressing}`, `Degraded=${degraded}`]);
  });

  it("name the voters that do not serve", () => {
    const [, , degraded] = conditionsOf(sick, waiting("Growing"));
    expect(degraded?.message).toBe("example-2 does not serve");
  });
});

describe("the phase", () => {
  const rows: readonly (readonly [Reason, string, Special?])[] = [
    ["Bootstrapping", "Creating"],
    ["Growing", "Growing"],
    ["Growing", "Creating", { status: { phase: "Creating" } }],
    ["Settling", "Creating", { status: { phase: "Creating" } }],
    ["Settling", "Running", { status: { phase: "Running" } }],
    ["Settling", "Running"],
    ["Shrinking", "Shrinking"],
    ["Healing", "Healing"],
    ["RollingOut", "Rolling"],
    ["RollingBack", "RollingBack"],
    ["Recovering", "Recovering"],
    ["Hibernating", "Hibernating"],
    ["Hibernated", "Hibernated"],
    ["Paused", "Paused"],
    ["NoQuorum", "NoQuorum"],
    ["QuorumLost", "QuorumLost"],
    ["AllDataLost", "Lost"],
    ["MembersUnreachable", "Unknown"],
    ["ClusterIdMismatch", "Mismatch"],
    ["Corrupt", "Corrupt"],
    ["NoSpace", "NoSpace"],
    ["Defragmenting", "Running"],
    ["Resizing", "Running"],
    ["Healthy", "Running"],
    ["RolloutFailed", "Running"],
    ["VersionRefused", "Running"],
    ["SpecRefused", "Refused"],
    ["SecretMissing", "Blocked"],
    ["LockedOut", "Blocked"],
    ["Securing", "Running"],
  ];
  for (const [reason, phase, special] of rows) {
    it(`of ${reason} is ${phase}${special ? ` after ${special.status?.phase}` : ""}`, () => {
      expect(statusOf(three(special), waiting(reason)).phase).toBe(phase);
    });
  }
});

describe("the status", () => {
  const status = (observed: Observed, decision: Decision = rest) => statusOf(observed, decision);
  const next = templateFor({ version: "3.7.3" });

  it("counts members that serve, and names the leader", () => {
    const found = status(cluster([voter(0), voter(1), voter(2, down)]));
    expect(found).toMatchObject({ readyMembers: 2, leader: "example-0", version: "3.6.16" });
    expect(found.selector).toBe("app.kubernetes.io/name=etcd,app.kubernetes.io/instance=example");
  });

  it("shows the lowest version while a rollout is under way", () => {
    const found = status(cluster([voter(0), voter(1, madeFrom(next))], { status: { rollout: next } }));
    expect(found).toMatchObject({ version: "3.6.16", targetVersion: "3.7.3" });
  });

  it("keeps the version while no member answers", () => {
    expect(status(cluster([voter(0, silent)], { status: { version: "3.5.35" } })).version).toBe("3.5.35");
  });

  it("shows role, readiness and lag of each member", () => {
    const members = [
      voter(0),
      voter(1, behind(400)),
      voter(2, behind(600)),
      learner(3, behind(20)),
      voter(4, down),
    ];
    expect(status(cluster(members)).members).toMatchObject([
      { role: "Leader", ready: true, lag: 0 },
      { role: "Follower", ready: true, lag: 0 },
      { role: "Follower", ready: true, lag: 600 },
      { role: "Learner", ready: true, lag: 20 },
      { role: "Unknown", ready: false },
    ]);
  });

  it("stores what was decided, and drops what is undefined", () => {
    const decision: Decision = {
      do: "record",
      status: { clusterId: "c2", rollout: undefined },
      reason: "Healing",
      message: "",
    };
    const found = status(three({ status: { rollout: next } }), decision);
    expect(found.clusterId).toBe("c2");
    expect("rollout" in found).toBe(false);
  });

  const compared = { purpose: "corrupt/a2/a0,a1,a2", revision: "100", odd: [], agreed: true };
  it.each<[string, Special, boolean]>([
    ["as long as the alarm is raised", { alarms: [alarm("CORRUPT", 2)] }, true],
    ["while nobody knows whether it is", { quorum: false }, true],
    ["not until the next alarm about the same member", {}, false],
  ])("remembers hashes that were compared for an alarm %s", (_what, special, kept) => {
    const found = status(three({ ...special, status: { comparison: compared } })).comparison;
    expect(found).toEqual(kept ? compared : undefined);
  });

  it("shows certificates", () => {
    const expiresMs = Date.parse("2026-03-01T00:00:00Z");
    const peer = { trust: "t", phase: "Current" as const, expiresMs };
    expect(status(three({ certificates: { peer } })).tls).toEqual({
      peer: { phase: "Current", expires: "2026-03-01T00:00:00.000Z" },
    });
    expect(status(three()).tls).toBeUndefined();
  });

  const newer = [voter(0, says({ revision: 120n })), voter(1)];
  const known = (lastKnownAt: string): Special => ({ status: { lastKnownRevision: "100", lastKnownAt } });
  it.each<[string, Observed, string | undefined]>([
    ["stores the newest revision the first time", cluster(newer), "120"],
    ["stores it once a minute", cluster(newer, known("2026-01-01T11:59:00Z")), "120"],
    ["does not store it more often", cluster(newer, known("2026-01-01T11:59:01Z")), "100"],
    ["stores it after the clock was set back", cluster(newer, known("2026-01-01T12:00:59Z")), "120"],
    ["does not store it without quorum", cluster(newer, { quorum: false }), undefined],
    [
      "does not store an older one",
      cluster([voter(0, says({ revision: 90n }))], known("2026-01-01T10:00:00Z")),
      "100",
    ],
  ])("%s", (_what, observed, revision) => {
    expect(status(observed).lastKnownRevision).toBe(revision);
  });

  it("does not store the same revision again", () => {
    const lastKnownAt = "2026-01-01T10:00:00Z";
    expect(status(three({ status: { lastKnownRevision: "100", lastKnownAt } })).lastKnownAt).toBe(
      lastKnownAt,
    );
  });
});

describe("what a status says of a member", () => {
  const shown = (...traits: Parameters<typeof voter>[1][]) =>
    statusOf(cluster([voter(0, says({ raftIndex: 10_000n })), voter(1, ...traits)]), rest).members?.[1];
  const at = (appliedIndex: bigint) => says({ appliedIndex });

  it("a voter counts as level up to 500 entries behind the leader", () => {
    expect(shown(at(9_500n))).toMatchObject({ lag: 0 });
    expect(shown(at(9_499n))).toMatchObject({ lag: 501 });
  });

  it("the version that it last had stays while it does not answer", () => {
    expect(shown(silent, record({ version: "3.5.35" }))).toMatchObject({
      version: "3.5.35",
      role: "Unknown",
    });
  });
});

describe("the newest revision", () => {
  const seen = (revision: bigint, status: object = {}) =>
    statusOf(cluster([voter(0, says({ revision }))], { status }), rest);
  const stored = { lastKnownRevision: "100", lastKnownAt: "2026-01-01T12:00:00.000Z" };
  const known = (lastKnownAt: string) => ({ lastKnownRevision: "7", lastKnownAt });

  it("is stored the first time, and then once a minute while it changes", () => {
    expect(seen(1n)).toMatchObject({ lastKnownRevision: "1" });
    expect(seen(100n)).toMatchObject(stored);
    expect(seen(100n, known("2026-01-01T11:59:00Z"))).toMatchObject(stored);
    expect(seen(100n, known("2026-01-01T11:59:00.001Z"))).toMatchObject({ lastKnownRevision: "7" });
    expect(seen(100n, known("2026-01-01T12:00:00Z"))).toMatchObject({ lastKnownRevision: "7" });
  });

  it("is stored at once when the clock was set back since", () => {
    expect(seen(100n, known("2026-01-01T12:00:00.001Z"))).toMatchObject(stored);
  });
});

describe("messages of conditions", () => {
  const stranger = { id: "255", name: "", peerUrls: [], clientUrls: [], learner: false };
  const unknown =
    "etcd has members that this operator did not add: ff; remove them with etcdctl member remove ff";
  const messages = (observed: Observed, decision: Decision) =>
    Object.fromEntries(conditionsOf(observed, decision).map(({ type, message }) => [type, message]));

  it("an unreachable cluster is told of in the words of the decision", () => {
    const blind = three({ quorum: false });
    expect(messages(blind, waiting("MembersUnreachable"))).toMatchObject({ Available: "it waits" });
    expect(messages(blind, waiting("NoQuorum"))).toMatchObject({
      Available: "no majority of the voters answers",
    });
  });

  it("members that nobody knows are mentioned once, beside what else is wrong", () => {
    const special = { unknownMembers: [stranger] };
    const degraded = (observed: Observed, decision: Decision) => messages(observed, decision)["Degraded"];
    expect(degraded(three(special), waiting("Healing"))).toBe(`it waits; ${unknown}`);
    expect(degraded(three(), waiting("Healing"))).toBe("it waits");
    expect(degraded(three(special), { ...waiting("UnknownMembers"), message: unknown })).toBe(unknown);
    expect(degraded(cluster([voter(0), voter(1, down)], special), waiting("Growing"))).toBe(
      `example-1 does not serve; ${unknown}`,
    );
    expect(degraded(three(special), rest)).toBe(unknown);
    expect(conditionsOf(three(special), rest)[2]).toMatchObject({ status: "True", reason: "UnknownMembers" });
    expect(conditionsOf(three(), rest)[2]).toMatchObject({ status: "False", reason: "Healthy" });
  });
});

describe("the phase", () => {
  const phase = (reason: Reason, before?: string) =>
    statusOf(three({ status: { phase: before as never } }), waiting(reason)).phase;

  it("stays what it was while pods settle", () => {
    expect(phase("Settling", "Rolling")).toBe("Rolling");
    expect(phase("Settling", "Creating")).toBe("Creating");
    expect(phase("Settling")).toBe("Running");
    expect(phase("Growing", "Rolling")).toBe("Growing");
  });
});
