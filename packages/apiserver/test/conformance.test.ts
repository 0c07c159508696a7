import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { startApiServer } from "../src/index.ts";

/** How many agree at least: raised when more do, never lowered. */
const suites = [
  { name: "given", count: 220, floor: 218, cases: "cases", golden: "golden" },
  { name: "our own", count: 999, floor: 992, cases: "own/cases", golden: "own/golden" },
] as const;

const folder = resolve(import.meta.dirname, "../../../conformance");

/** Cases wait more than they work (for watches to end, for time to pass), so their files are played side by side. */
const atOnce = 8;

describe("the recorded answers of the real API server", () => {
  it.each(suites)("agree in at least $floor of $count cases: $name", { timeout: 240_000 }, async (suite) => {
    const files = await readdir(resolve(folder, suite.cases));
    const waiting = files.filter((file) => !file.startsWith("_")).map((file) => file.replace(/\.mjs$/, ""));
    const outputs: string[] = [];
    const player = async () => {
      for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
        outputs.push(await play(suite, part));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, player));
    const output = outputs.join("");
    const totals = [...output.matchAll(/^(\d+) passed, (\d+) failed$/gm)];
    const sum = (column: number) => totals.reduce((all, total) => all + Number(total[column]), 0);
    expect(sum(1) + sum(2), output).toBe(suite.count);
    expect(sum(1), output).toBeGreaterThanOrEqual(suite.floor);
  });
});

async function play({ cases, golden }: (typeof suites)[number], part: string): Promise<string> {
  await using server = await startApiServer({ port: 0, token: "admin-token" });
  const access = ["--server", server.address, "--token", "admin-token", "--insecure", "--diff", "1"];
  const what = ["--cases", cases, "--golden", golden, "--only", part];
  return await new Promise<string>((done) => {
    const options = { cwd: folder, maxBuffer: 1 << 26 };
    execFile(process.execPath, ["run.mjs", ...access, ...what], options, (_, stdout) => done(stdout));
  });
}
