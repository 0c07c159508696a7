import { expect, test } from "vitest";
import { annotations as names } from "../api/names.ts";
import { claimView } from "./views.ts";

test.each<[string, Record<string, string>, number | undefined]>([
  ["a claim that nobody has marked", {}, undefined],
  ["a claim with data", { [names.epoch]: "5", [names.primaryEpoch]: "3" }, 5],
  [
    "a claim that was found empty",
    { [names.epoch]: "0", [names.primaryEpoch]: "0", [names.version]: "7.0" },
    0,
  ],
  ["the claim of a primary that lost the mark", { [names.primaryEpoch]: "3", [names.version]: "7.0" }, 3],
  ["the claim of a replica that lost the mark", { [names.version]: "7.0" }, 1],
  ["an empty one that lost the mark", { [names.primaryEpoch]: "0", [names.version]: "7.0" }, 0],
])("%s", (_name, annotations, epoch) => {
  const metadata = { name: "data-db-0", namespace: "default", uid: "u", annotations };
  expect(claimView({ metadata } as unknown as Parameters<typeof claimView>[0]).epoch).toBe(epoch);
});
