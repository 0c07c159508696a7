/** A sample of what `npm run crashes -- --operator database` plays: the operator dies in the middle, and the end is the same. */
import { expect, test } from "vitest";
import { everyCrash, journeys } from "./crashes.ts";

const sampled = ["shrunk", "backedUp", "deletedWithBackup"] as const;

test.each(sampled)(
  "the journey %s ends the same when the operator dies",
  { timeout: 300_000 },
  async (name) => {
    const journey = journeys[name];
    const report = journey && (await everyCrash(journey, { sample: { count: 2, seed: 1 } }));
    expect(report).toMatchObject({ runs: 3, deaths: 2 });
  },
);
