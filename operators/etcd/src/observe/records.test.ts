import { expect, test } from "vitest";
import type { Member } from "../api/cluster.ts";
import type { ClaimView } from "./observed.ts";
import { refreshRecords } from "./records.ts";

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
