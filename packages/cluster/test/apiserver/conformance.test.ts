import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { startApiServer } from "../../src/apiserver/index.ts";

/** How many agree at least: raised when more do, never lowered. */
const suites = [
  { name: "given", count: 220, floor: 218, args: [] },
  { name: "our own", count: 347, floor: 327, args: ["--cases", "own/cases", "--golden", "own/golden"] },
] as const;

const folder = resolve(import.meta.dirname, "../../../../conformance");

describe("the recorded answers of the real API server", () => {
  it.each(suites)("agree in at least $floor of $count cases: $name", { timeout: 240_000 }, async (suite) => {
    await using server = await startApiServer({ port: 0, token: "admin-token" });
    const access = ["--server", server.address, "--token", "admin-token", "--insecure", "--diff", "1"];
    const output = await new Promise<string>((done) => {
      const options = { cwd: folder, maxBuffer: 1 << 26 };
      execFile(process.execPath, ["run.mjs", ...access, ...suite.args], options, (_, stdout) => done(stdout));
    });
    const passed = Number(/(\d+) passed, \d+ failed/.exec(output)?.[1]);
    expect(passed, output).toBeGreaterThanOrEqual(suite.floor);
  });
});
