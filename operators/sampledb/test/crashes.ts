/** What `npm run crashes -- --operator sampledb` plays. */
import { everyCrashOf, exploredJourneys, type Journey } from "./explore/crashes.ts";
import * as scenarios from "./scenarios.ts";
import { everyCrash as everyCrashIn, type Scenario } from "./simulation/crashes.ts";

process.env["OPERATOR_IMAGE"] = "sampledb-operator:test";

export const journeys: Readonly<Record<string, Scenario | Journey>> = { ...scenarios, ...exploredJourneys };

export async function everyCrash(
  journey: Scenario | Journey,
  options: Parameters<typeof everyCrashIn>[1] = {},
): ReturnType<typeof everyCrashIn> {
  return await (typeof journey === "function"
    ? everyCrashIn(journey, options)
    : everyCrashOf(journey, options));
}
