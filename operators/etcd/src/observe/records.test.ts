import { describe, expect, test } from "vitest";
import type { Member } from "../api/cluster.ts";
import type { EtcdMember } from "../engine/etcd.ts";
import type { ClaimView } from "./observed.ts";
import { nextOrdinal, refreshRecords, rememberedClusterId } from "./records.ts";

const cluster = { name: "example", namespace: "default", uid: "u" };
const claims = new Map([["example-0", { uid: "now" } as ClaimView]]);

test.each<[string, Partial<Member>, string]>([
  ["a member without a volume of its own takes the one that is there", { id: "7" }, "now"],
  ["a member without an id takes any volume", { claimUid: "before" }, "now"],
  [
    "a member with data keeps its own, so that another volume shows as a loss",
    { id: "7", claimUid: "before" },
    "before",
  ],
])("%s", (_, known, claimUid) => {
  const record = { name: "example-0", phase: "Voter", template: "t", ...known } as Member;
  const sources = { cluster, records: [record], claims, list: undefined, templates: ["t"] };
  expect(refreshRecords(sources)).toEqual([{ ...record, claimUid }]);
});

describe("records follow what etcd says", () => {
  const entry = (id: string, name: string, learner = false): EtcdMember => ({
    ...{ id, name, learner, clientUrls: [] },
    peerUrls: [`http://${name}.example.default.svc:2380`],
  });
  const list = (...members: EtcdMember[]) => ({ clusterId: "1", members });
  const refreshed = (record: Partial<Member>, members?: EtcdMember[], templates: readonly string[] = ["t"]) =>
    refreshRecords({
      cluster,
      records: [{ name: "example-0", phase: "Voter", template: "t", ...record } as Member],
      claims: new Map(),
      list: members && list(...members),
      templates,
    })[0];

  test("a member that was added is known by its peer URL, and by its id from then on", () => {
    const joining = { phase: "Joining" as const };
    expect(refreshed(joining, [entry("255", "other"), entry("7", "example-0", true)])).toMatchObject({
      id: "7",
      phase: "Learner",
    });
    expect(refreshed({ id: "7" }, [entry("8", "example-0"), entry("7", "example-0")])).toMatchObject({
      id: "7",
      phase: "Voter",
    });
    expect(refreshed(joining, [entry("255", "other")])).toEqual({
      name: "example-0",
      template: "t",
      ...joining,
    });
  });

  test("a member that leaves goes on leaving, and one that etcd no longer counts leaves", () => {
    const leaving = { id: "7", phase: "Leaving" as const, message: "it is old" };
    expect(refreshed(leaving, [entry("7", "example-0")])).toEqual({
      name: "example-0",
      template: "t",
      ...leaving,
    });
    expect(refreshed(leaving, [])).toMatchObject({ ...leaving, removed: true });
    expect(refreshed({ id: "7" }, [])).toMatchObject({
      phase: "Leaving",
      removed: true,
      message: "etcd no longer counts it among its members",
    });
    expect(refreshed({ id: "7" })).toEqual({ name: "example-0", phase: "Voter", template: "t", id: "7" });
  });

  test("a seed stays one, whatever a list says", () => {
    const seed = { name: "example-0", phase: "Seed", template: "t" };
    expect(refreshed({ phase: "Seed" }, [entry("7", "example-0")])).toEqual(seed);
    expect(refreshed({ phase: "Seed", id: "7" }, [])).toMatchObject({ phase: "Seed" });
  });

  test("a template that there is no more becomes the one in use", () => {
    expect(refreshed({ template: "t2" }, undefined, ["t", "t2"])).toMatchObject({ template: "t2" });
    expect(refreshed({ template: "t3" }, undefined, ["t", "t2"])).toMatchObject({ template: "t" });
    expect(refreshed({ template: undefined as never }, undefined, ["t"])).toMatchObject({ template: "t" });
    expect(refreshed({ template: "t3" }, undefined, [])).toMatchObject({ template: "t3" });
  });
});

describe("members without a record", () => {
  const entry = (id: string, name: string, learner = false): EtcdMember => ({
    ...{ id, name, learner, clientUrls: [] },
    peerUrls: ["http://10.0.0.1:2380", `http://${name}.example.default.svc:2380`],
  });
  const claim = (change: Partial<ClaimView> = {}) =>
    ({ uid: "c", memberId: "9", clusterId: "1", fenced: false, deleting: false, ...change }) as ClaimView;
  const found = (
    sources: {
      list?: EtcdMember[];
      claims?: Record<string, ClaimView>;
      records?: Member[];
      templates?: string[];
    } = {},
  ) =>
    refreshRecords({
      cluster,
      records: sources.records ?? [],
      claims: new Map(Object.entries(sources.claims ?? {})),
      list: sources.list && { clusterId: "1", members: sources.list },
      templates: sources.templates ?? ["t"],
    });

  test("are remembered by etcd, in the order of their numbers", () => {
    expect(
      found({ list: [entry("11", "example-10"), entry("3", "example-2", true), entry("5", "other-1")] }),
    ).toEqual([
      { name: "example-2", id: "3", phase: "Learner", template: "t" },
      { name: "example-10", id: "b", phase: "Voter", template: "t" },
    ]);
  });

  test("are remembered with their volumes", () => {
    expect(found({ list: [entry("9", "example-1")], claims: { "example-1": claim() } })).toEqual([
      { name: "example-1", id: "9", phase: "Voter", claimUid: "c", template: "t" },
    ]);
    expect(found({ list: [entry("9", "example-1")], templates: [] })).toEqual([
      { name: "example-1", id: "9", phase: "Voter" },
    ]);
  });

  test("are remembered by their volumes alone: as voters, or as leftovers where etcd has a list", () => {
    const volume = { name: "example-1", id: "9", claimUid: "c", template: "t" };
    expect(found({ claims: { "example-1": claim() } })).toEqual([{ ...volume, phase: "Voter" }]);
    expect(found({ claims: { "example-1": claim() }, list: [] })).toEqual([{ ...volume, phase: "Leaving" }]);
  });

  test.each([
    ["set aside", claim({ fenced: true })],
    ["being deleted", claim({ deleting: true })],
    ["without a member's id", claim({ memberId: undefined })],
  ])("are not made of a volume that is %s", (_, each) => {
    expect(found({ claims: { "example-1": each } })).toEqual([]);
  });

  test("are not made where there is a record", () => {
    const known = { name: "example-1", phase: "Voter", id: "9", claimUid: "c", template: "t" } as Member;
    const sources = { records: [known], claims: { "example-1": claim() } };
    expect(found(sources)).toEqual([known]);
    expect(found({ ...sources, list: [entry("9", "example-1")] })).toEqual([known]);
  });
});

test("claims remember the id of their cluster, unless they were set aside", () => {
  const claim = (clusterId: string | undefined, fenced = false) => ({ clusterId, fenced }) as ClaimView;
  const id = (...claims: ClaimView[]) =>
    rememberedClusterId(new Map(claims.map((each, at) => [`${at}`, each])));
  expect(id()).toBeUndefined();
  expect(id(claim(undefined), claim("c1"))).toBe("c1");
  expect(id(claim("c0", true), claim("c1"))).toBe("c1");
  expect(id(claim("c0", true))).toBeUndefined();
});

test("the next number is above every number in use", () => {
  expect(nextOrdinal(cluster, undefined, [])).toBe(0);
  expect(nextOrdinal(cluster, undefined, ["example-0"])).toBe(1);
  expect(nextOrdinal(cluster, 3, ["example-4", "example-1"])).toBe(5);
  expect(nextOrdinal(cluster, 7, ["example-4", "other-9"])).toBe(7);
  expect(nextOrdinal(cluster, undefined, ["other-9"])).toBe(0);
});
