/** Random stories under virtual time, with the agents' own code and a simulated PostgreSQL. */
import { expect, test } from "vitest";
import { explore } from "./simulation/explore.ts";

test.each(Array.from({ length: 12 }, (_, seed) => seed + 1))(
  "story %i loses no acknowledged commit, has one primary at a time, and ends well",
  async (seed) => {
    const { violations, acknowledged } = await explore({ seed });
    expect(violations).toEqual([]);
    expect(acknowledged).toBeGreaterThan(100);
  },
);

test("a primary that was ready for an election does not begin another timeline in its epoch (90161)", async () => {
  const { violations } = await explore({ seed: 90_161 });
  expect(violations).toEqual([]);
});

test("a primary whose Lease is lost while its server starts does not serve (80053)", async () => {
  const { violations } = await explore({ seed: 80_053 });
  expect(violations).toEqual([]);
});
