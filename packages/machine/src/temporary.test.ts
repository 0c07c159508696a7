import { existsSync, mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ownMark } from "./owner.ts";
import { sweepTemporary, temporaryDirectory } from "./temporary.ts";

test("directories of dead processes are removed, those of living ones stay", async () => {
  const dead = ownMark().replace(/-\d+-\d+$/, "-4194305-1");
  const abandoned = join(tmpdir(), `keelson-${dead}-abcdef`);
  mkdirSync(abandoned, { recursive: true });
  const own = await temporaryDirectory();
  await sweepTemporary();
  expect([existsSync(abandoned), existsSync(own)]).toEqual([false, true]);
  await rm(own, { recursive: true });
});
