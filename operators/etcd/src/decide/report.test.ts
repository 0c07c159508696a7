import { expect, test } from "vitest";
import { cluster, voter } from "../../test/decide/observed.ts";
import { reasons } from "../api/conditions.ts";
import { statusOf } from "./report.ts";

test("a cluster that is being created and needs healing says so", () => {
  const observed = cluster([voter(0)], { status: { phase: "Creating" } });
  const told = (reason: "Growing" | "Healing") =>
    statusOf(observed, { do: "wait", reason, message: "it waits" }).phase;
  expect(told(reasons.growing)).toBe("Creating");
  expect(told(reasons.healing)).toBe("Healing");
});
