/** Pods that cannot run, and were made from another template than their member's. */
import { expect, test } from "vitest";
import {
  cluster,
  down,
  obstacle,
  pod,
  record,
  template,
  templateFor,
  voter,
} from "../../test/decide/observed.ts";
import { stuckMembers, stuckPods } from "./stuck.ts";

const next = templateFor({ version: "3.7.3" });
const stuck = [down, obstacle("Unschedulable: too large")];

test("a pod that cannot run is replaced when its member follows another template by now, and not before", () => {
  const follows = (hash: string | undefined) =>
    stuckPods(
      cluster([voter(0, ...stuck, pod({ template: "old" }), record({ template: hash as string })), voter(1)]),
    );
  expect(follows(template.hash)).toMatchObject({ do: "deletePods", members: ["example-0"] });
  expect(follows("old")).toBeUndefined();
  expect(follows(undefined)).toBeUndefined();
});

test("a member that cannot run goes back from the rollout of another minor when the spec does", () => {
  const members = [voter(0, ...stuck, record({ template: next.hash })), voter(1), voter(2)];
  const decision = stuckMembers(cluster(members, { status: { rollout: next } }));
  expect(decision).toMatchObject({
    do: "record",
    status: { members: [{ template: template.hash }, {}, {}] },
  });
});
