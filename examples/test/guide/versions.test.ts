/** Conversions of the guide lose nothing. */
import { checkRoundTrip } from "@keelson/testing";
import { expect, test } from "vitest";
import { Schedule } from "../../src/guide/versions.ts";

test("a Schedule is the same after every way there and back", () => {
  expect(checkRoundTrip(Schedule).trips).toBe(400);
});
