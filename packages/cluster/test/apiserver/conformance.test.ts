import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { startApiServer } from "../../src/apiserver/index.ts";

/** Raised when more of the recorded answers agree; never lowered. */
const floor = 210;

describe("the recorded answers of the real API server", () => {
  it(`agree in at least ${floor} of 220 cases`, { timeout: 240_000 }, async () => {
    await using server = await startApiServer({ port: 0, token: "admin-token" });
    const runner = resolve(import.meta.dirname, "../../../../conformance/run.mjs");
    const args = [runner, "--server", server.address, "--token", "admin-token", "--insecure", "--diff", "1"];
    const output = await new Promise<string>((done) => {
      execFile(process.execPath, args, { maxBuffer: 1 << 26 }, (_, stdout) => done(stdout));
    });
    const passed = Number(/(\d+) passed, \d+ failed/.exec(output)?.[1]);
    expect(passed, output).toBeGreaterThanOrEqual(floor);
  });
});
