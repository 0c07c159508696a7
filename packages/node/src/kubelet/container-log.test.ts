import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "@keelson/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ContainerLog } from "./container-log.ts";
import { type LogQuery, readLog } from "./log-reader.ts";

let home: string;
let now = Date.parse("2026-01-01T00:00:00Z");
const clock = { now: () => now } as Clock;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "log-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const write = (log: ContainerLog, text: string, stream: "stdout" | "stderr" = "stdout") =>
  log.write(stream, Buffer.from(text));

async function read(log: ContainerLog, query: LogQuery = {}): Promise<string> {
  let text = "";
  for await (const chunk of readLog({ path: log.path, live: log }, query)) text += chunk.toString();
  return text;
}

describe("container logs", () => {
  test("lines come back as they were written, however they were cut", async () => {
    const log = await ContainerLog.open(join(home, "0.log"), clock);
    write(log, "one\ntw");
    write(log, "o\n");
    write(log, "three", "stderr");
    log.close();
    expect(await read(log)).toBe("one\ntwo\nthree");
  });

  test("a very long line is stored in parts and read as one", async () => {
    const log = await ContainerLog.open(join(home, "0.log"), clock);
    write(log, `${"x".repeat(40_000)}\n`);
    log.close();
    expect(await read(log)).toBe(`${"x".repeat(40_000)}\n`);
  });

  test("the tail, a stream, a time and a size can be asked for", async () => {
    const log = await ContainerLog.open(join(home, "0.log"), clock);
    for (let i = 0; i < 10; i++) {
      now += 1000;
      write(log, `line ${i}\n`, i % 2 === 0 ? "stdout" : "stderr");
    }
    log.close();
    expect(await read(log, { tailLines: 2 })).toBe("line 8\nline 9\n");
    expect(await read(log, { tailLines: 0 })).toBe("");
    expect(await read(log, { tailLines: 100 })).toContain("line 0\n");
    expect(await read(log, { tailLines: 4, stream: "stderr" })).toBe("line 7\nline 9\n");
    expect(await read(log, { since: now })).toBe("line 9\n");
    expect(await read(log, { limitBytes: 9 })).toBe("line 0\nli");
    expect(await read(log, { tailLines: 1, timestamps: true })).toMatch(
      /^2026-01-01T00:00:10\.000000000Z line 9\n$/,
    );
  });

  test("following sees what is written later and ends with the container", async () => {
    const log = await ContainerLog.open(join(home, "0.log"), clock);
    write(log, "before\n");
    const chunks: string[] = [];
    const following = (async () => {
      for await (const chunk of readLog({ path: log.path, live: log }, { follow: true, tailLines: 1 })) {
        chunks.push(chunk.toString());
        if (chunks.length === 1) setImmediate(() => write(log, "after\n"));
        else log.close();
      }
    })();
    await following;
    expect(chunks).toEqual(["before\n", "after\n"]);
  });

  test("full files are put aside, only the newest are kept, and followers go on", async () => {
    const log = await ContainerLog.open(join(home, "0.log"), clock, { maxBytes: 200, maxFiles: 2 });
    const following = read(log, { follow: true });
    for (let i = 0; i < 20; i++) {
      now += 1000;
      write(log, `a line that is long enough ${i}\n`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    log.close();
    expect(readdirSync(home)).toHaveLength(2);
    expect(await following).toContain("enough 19\n");
  });

  test("who does not follow gets what there was, however fast the log grows", async () => {
    const log = await ContainerLog.open(join(home, "0.log"), clock);
    const many = `${"x".repeat(100)}\n`.repeat(2_000);
    write(log, many);
    let text = "";
    for await (const chunk of readLog({ path: log.path, live: log }, {})) {
      text += chunk.toString();
      write(log, many);
    }
    expect(text).toBe(many);
  });
});
