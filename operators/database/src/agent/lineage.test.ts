import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LineageFile } from "./lineage.ts";

let directory = "";
let file: LineageFile;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "lineage-"));
  file = new LineageFile(join(directory, "lineage.json"));
});

afterEach(async () => await rm(directory, { recursive: true, force: true }));

const third = { name: "db-0", timeline: 3, timelineEpoch: 5 };

/** It knew that it was on timeline 1, and followed db-0 from there. */
async function followed(): Promise<void> {
  await file.write({ timeline: 1, epoch: 1 });
  await file.expect({ timeline: 1, epoch: 1 }, 1, "db-0");
}

test("a timeline that nobody told it of is that of the one whom it followed", async () => {
  await followed();
  expect(await file.epochOf(3)).toBe(-1);
  await file.recognise(third);
  expect(await file.epochOf(3)).toBe(5);
});

test("it is nobody else's", async () => {
  await followed();
  await file.recognise({ ...third, name: "db-1" });
  expect(await file.epochOf(3)).toBe(-1);
});

test.each([
  ["was being rewound", { timeline: 2, epoch: -1, next: { timeline: 3, epoch: 4 }, from: "db-0" }, -1],
  ["was told whose it is", { timeline: 2, epoch: 2, next: { timeline: 3, epoch: 4 }, from: "db-0" }, 4],
  ["was on a timeline of that number before", { timeline: 3, epoch: -1, from: "db-0" }, -1],
])("data that %s stays what it was", async (_, lineage, epoch) => {
  await file.write(lineage);
  await file.recognise({ ...third, timeline: lineage.epoch === -1 ? lineage.timeline : 3 });
  expect(await file.epochOf(lineage.epoch === -1 ? lineage.timeline : 3)).toBe(epoch);
});
