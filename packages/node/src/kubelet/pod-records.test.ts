import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { recordsFor } from "./container-record.ts";
import { restoreRecords } from "./pod-records.ts";

test("records that a power cut emptied are made of the status that was published", async () => {
  const home = mkdtempSync(join(tmpdir(), "records-"));
  const path = join(home, "containers.json");
  writeFileSync(path, "");
  const records = recordsFor({ containers: [{ name: "c", image: "i" }] });
  const state = { running: { startedAt: "2026-01-01T00:00:00Z" } };
  const status = { name: "c", restartCount: 2, state, ready: true, image: "i", imageID: "", started: true };
  await restoreRecords(path, records, { containerStatuses: [status] }, 0);
  expect(records[0]).toMatchObject({ state: "exited", attempts: 3, termination: { exitCode: 137 } });
  rmSync(home, { recursive: true });
});
