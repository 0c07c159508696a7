/** The stories find faults that were put there on purpose; the slower ones are left to `node test/mutate.ts`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mutants } from "./mutants.ts";

const quick = mutants
  .map((mutant, number) => ({ ...mutant, number }))
  .filter(({ stories = 60 }) => stories <= 8);

test.each(quick)("stories find that $name", { timeout: 120_000 }, async ({ number, stories = 8 }) => {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, "mutate.ts"), String(number), String(stories)],
    {
      stdio: "ignore",
    },
  );
  expect(await once(child, "exit")).toEqual([0, null]);
});
