import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

async function run(program: string): Promise<unknown> {
  const file = join(import.meta.dirname, program);
  const args = ["--conditions=keelson-source", "--no-warnings", "--expose-gc", file];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 170_000 });
  return JSON.parse(stdout);
}

interface Figures {
  readonly before: number;
  readonly watched: number;
  readonly brokenOff: number;
  readonly sentTooMuch: number;
  readonly slow: { readonly heldMb: number; readonly received: readonly number[] };
}

describe("a server in a process of its own", () => {
  it("holds what it held after 10,000 watches, 1,000 broken bodies and 20 that were too long; slow watchers cost little", async () => {
    const { before, watched, brokenOff, sentTooMuch, slow } = (await run("memory-process.ts")) as Figures;
    // A leak of a kilobyte for each would show.
    expect(watched - before).toBeLessThan(8);
    expect(brokenOff - before).toBeLessThan(8);
    expect(sentTooMuch - before).toBeLessThan(8);
    // 40 watchers were sent 10 MB each. What the server remembers of the object is 20 to 30 MB by itself.
    expect(slow.heldMb).toBeLessThan(80);
    // All were cut off before they had been told everything.
    expect(slow.received).toHaveLength(40);
    for (const bytes of slow.received) expect(bytes).toBeLessThan(9_000_000);
  }, 180_000);

  it("leaves nothing behind when it is closed, and lets its process end", async () => {
    expect(await run("dispose-process.ts")).toEqual([]);
  });
});
