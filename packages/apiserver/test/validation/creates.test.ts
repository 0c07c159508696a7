import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { type Creates, playCreates } from "./creates.ts";
import { embeddedPlayer } from "./players.ts";

const recorded = JSON.parse(
  readFileSync(resolve(import.meta.dirname, "creates.recorded.json"), "utf8"),
) as Creates;

/** Raised when more answers agree; never lowered. */
const share = 0.998;

describe("what the real server says to every object and to what is wrong with it", () => {
  it("is what the embedded server says", { timeout: 120_000 }, async () => {
    await using player = await embeddedPlayer();
    const played = await playCreates(player);
    const differences: string[] = [];
    let count = 0;
    for (const [object, answers] of Object.entries(recorded))
      for (const [variation, expected] of Object.entries(answers)) {
        count++;
        const actual = played[object]?.[variation];
        if (JSON.stringify(actual) !== JSON.stringify(expected))
          differences.push(
            `${object} ${variation}\n  want ${JSON.stringify(expected)}\n  got  ${JSON.stringify(actual)}`,
          );
      }
    const refused = Object.values(played).flatMap((answers) => Object.values(answers));
    expect(refused.filter(([code]) => code >= 500)).toEqual([]);
    expect(1 - differences.length / count, differences.join("\n")).toBeGreaterThanOrEqual(share);
  });

  it("is the same object, completed in the same way", async () => {
    await using player = await embeddedPlayer();
    const played = await playCreates(player);
    for (const [object, answers] of Object.entries(recorded))
      expect(played[object]?.[""], object).toEqual(answers[""]);
  });
});
