import { expect, it } from "vitest";
import { ownStatus } from "./own-status.ts";

it("a status is left without what the runtime writes", () => {
  const status = { phase: "Done", conditions: [], observedGeneration: 3, inventory: [], steps: {} };
  expect(ownStatus({ status })).toEqual({ phase: "Done" });
});

it("a missing status is empty", () => {
  expect(ownStatus({ status: undefined })).toEqual({});
});
