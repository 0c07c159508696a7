/** The agent's dealings with a real PostgreSQL, where this machine has one. */
import { execFile } from "node:child_process";
import { chown, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const versions = await readdir("/usr/lib/postgresql").catch(() => []);
const programs = versions.map((version) => `/usr/lib/postgresql/${version}/bin`).at(-1);
const longestMs = 290_000;
const nobody = { uid: 65_534, gid: 65_534 };

/** Runs a script of `real/` as an ordinary user, and returns what it prints. */
async function played(script: string): Promise<Record<string, unknown>> {
  const base = await mkdtemp(join(tmpdir(), "keelson-postgres-"));
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chown(base, nobody.uid, nobody.gid);
  try {
    const path = join(import.meta.dirname, "real", script);
    const args = ["--conditions=keelson-source", path, programs ?? "", base];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      ...(isRoot && nobody),
      env: { PATH: process.env["PATH"], HOME: base, NODE_NO_WARNINGS: "1" },
      maxBuffer: 1 << 26,
      // Its servers listen on the machine's port of PostgreSQL: what is left of one would be in the way of the next.
      timeout: longestMs,
      killSignal: "SIGKILL",
    });
    return JSON.parse(/^RESULT (.*)$/m.exec(stdout)?.[1] ?? "{}") as Record<string, unknown>;
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}

test.skipIf(programs === undefined)(
  "a backup in a bucket is proven, restored, restored in place and undone; nothing ends early",
  { timeout: 300_000 },
  async () => {
    const result = await played("engine.ts");
    expect(result).toMatchObject({
      slow: { role: "1", woken: "t" },
      backup: "Done: a server that was started from it answered",
      restored: 1500,
      // The log from after the last archived segment is not in the store.
      inPlace: expect.toSatisfy((rows: number) => rows >= 1500 && rows <= 1600),
      undone: 1600,
      unreadable: "",
    });
    // A restore from the same backup follows what was done since, and not what was undone.
    expect(result["afterInPlace"]).toBe(Number(result["inPlace"]) + 10);
    expect(result["afterUndo"]).toBe(1610);
    expect(result["early"]).toContain("choose an older one");
    expect(result["withoutLog"]).toContain("could not restore file");
  },
);

test.skipIf(programs === undefined)(
  "a moment is restored once the archive has it, also when nothing came after it; a failover leaves no gap, and one is named",
  { timeout: 300_000 },
  async () => {
    const result = await played("archive.ts");
    expect(result["early"]).toMatch(/the archive reaches .* is later/);
    expect(result).toMatchObject({ isKnown: true, idle: 300, afterFailover: 600 });
    expect(result["present"]).toBe(600);
    // A segment is missing: PostgreSQL takes that for the end of the log.
    const hasGap = expect.stringContaining("the archive has a gap");
    expect(result).toMatchObject({ gap: { said: hasGap, later: hasGap, advised: 200 }, gapBefore: hasGap });
  },
);

test.skipIf(programs === undefined)(
  "what users choose for their sessions, or lower, stops neither the agent nor a restore; what a killed server left goes",
  { timeout: 300_000 },
  async () => {
    expect(await played("settings.ts")).toEqual({
      serializable: "running true",
      readOnly: "prepared",
      backup: "Done: a server that was started from it answered",
      collated: { found: ['pg_catalog."en-x-icu"'], rebuilt: 1, left: 0 },
      orphaned: { client: "ended", server: "running" },
      left: 1000,
      lowered: "running true",
      restored: 1000,
    });
  },
);
