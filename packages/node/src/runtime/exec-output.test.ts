import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closeWhenIdle, onlyData } from "./exec-output.ts";
import { FifoPool } from "./fifo-pool.ts";

let directory: string;
let pipes: FifoPool;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "keelson-exec-"));
  pipes = new FifoPool(directory);
});
afterAll(async () => await rm(directory, { recursive: true }));

/** A command that writes so much. The pipe is held open beyond its end, as by something left in the background. */
async function command(bytes: number) {
  const pipe = await pipes.open();
  const child = spawn("head", ["-c", String(bytes), "/dev/zero"], {
    stdio: ["ignore", pipe.writeFd, "ignore"],
  });
  const output = onlyData(pipe);
  const closed = once(child, "exit").then(async () => await closeWhenIdle(pipe, output));
  return { pipe, output, exited: once(child, "exit"), closed };
}

async function pass(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await nextTurn();
}

async function lengthOf(output: PassThrough, turns: number): Promise<number> {
  let length = 0;
  for await (const chunk of output) {
    length += (chunk as Buffer).length;
    await pass(turns);
  }
  return length;
}

test("what is in the pipe when a command ends waits for a reader who begins later", async () => {
  // Our side takes as much as its two buffers hold; the rest stays in the pipe.
  const { readableHighWaterMark, writableHighWaterMark } = new PassThrough();
  const bytes = readableHighWaterMark + writableHighWaterMark + 60_000;
  const { pipe, output, exited, closed } = await command(bytes);
  await exited;
  await pass(100);
  expect(await lengthOf(output, 10)).toBe(bytes);
  await closed;
  pipe.releaseWriter();
});

test.each([0, 1, 200])("a reader that pauses for %i turns gets a megabyte whole", async (turns) => {
  const { pipe, output, closed } = await command(1_000_000);
  expect(await lengthOf(output, turns)).toBe(1_000_000);
  await closed;
  pipe.releaseWriter();
});

test("a reader that has gone does not keep the pipe", async () => {
  const { pipe, output, exited } = await command(1_000_000);
  for await (const _ of output) break;
  await closeWhenIdle(pipe, output);
  expect(pipe.readable.destroyed).toBe(true);
  await exited;
  pipe.releaseWriter();
});
