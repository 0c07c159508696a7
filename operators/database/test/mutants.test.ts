/** The stories find faults that were put there on purpose; the slower ones are left to `node test/mutate.ts`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mutants } from "./mutants.ts";

const quick = mutants
  .map((mutant, number) => ({ ...mutant, number }))
  .filter(({ seed }) => seed !== undefined);

test.each(quick)("stories find that $name", { timeout: 120_000 }, async ({ number, seed }) => {
  const args = [join(import.meta.dirname, "mutate.ts"), String(number), "1", String(seed)];
  const child = spawn(process.execPath, args, { stdio: "ignore" });
  expect(await once(child, "exit")).toEqual([0, null]);
});
