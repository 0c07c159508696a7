import { expect, test } from "vitest";
import { SampleDBBackup, type SampleDBBackupObject } from "../api/backup.ts";
import type { SampleDBObject } from "../api/sampledb.ts";
import { decideBackup, type ObservedBackup } from "./decide-backup.ts";

const nowMs = Date.parse("2026-01-01T00:01:00Z");
const metadata = {
  namespace: "default",
  name: "b",
  uid: "u1",
  creationTimestamp: "2026-01-01T00:00:00Z",
  resourceVersion: "1",
  generation: 1,
};
const spec = { database: "db", primary: false, timeoutSeconds: 3_600 };
const store = { claim: { name: "backups", path: "" } };
const manifest = {
  format: 1 as const,
  backupUid: "u1",
  takenAt: "t",
  sha256: "s",
  sizeBytes: 9,
  database: "db",
  redisVersion: "7.0.15",
  rdbVersion: 10,
  source: "db-1",
};
const verified = { at: "v", redisVersion: "7.0.15", keys: 3 };

function observed(changes: Partial<ObservedBackup> & { status?: object } = {}): ObservedBackup {
  const { status = {}, ...rest } = changes;
  const backup = {
    apiVersion: "sampledb.keelson.dev/v1",
    kind: SampleDBBackup.kind,
    metadata,
    spec,
    status,
  } as unknown as SampleDBBackupObject;
  const db = { status: { primary: "db-0" } } as unknown as SampleDBObject;
  return {
    backup,
    db,
    store,
    worker: undefined,
    leftovers: 0,
    before: undefined,
    image: "op:1",
    nowMs,
    ...rest,
  };
}

test.each<[string, Parameters<typeof observed>[0], string]>([
  ["a new one starts", {}, "start"],
  ["one that has ended rests", { status: { phase: "Done" } }, "rest"],
  ["without a database it waits", { db: undefined, store: undefined }, "wait"],
  ["behind another it waits", { before: "other" }, "wait"],
  [
    "one whose database is deleted before its pod begins has failed",
    { db: undefined, worker: { state: "working", message: "", begun: false } },
    "record",
  ],
  [
    "one whose database is deleted after that may have its copy",
    { db: undefined, worker: { state: "working", message: "", begun: true } },
    "wait",
  ],
  [
    "before its next attempt it waits",
    { status: { attempt: 2, retryAfter: "2026-01-01T00:01:10Z" } },
    "wait",
  ],
  ["while a pod works it waits", { worker: { state: "working", message: "" } }, "wait"],
  ["a report is recorded", { worker: { state: "done", manifest: { ...manifest, verified } } }, "record"],
])("%s", (_, changes, expected) => {
  expect(decideBackup(observed(changes)).do).toBe(expected);
});

const phaseAfter = (changes: Parameters<typeof observed>[0]) => {
  const decision = decideBackup(observed(changes));
  return "status" in decision ? decision.status.phase : undefined;
};

test("only what was restored into a scratch server counts, and only for this backup", () => {
  expect(phaseAfter({ worker: { state: "done", manifest: { ...manifest, verified } } })).toBe("Done");
  expect(phaseAfter({ worker: { state: "done", manifest } })).toBe("Failed");
  expect(
    phaseAfter({ worker: { state: "done", manifest: { ...manifest, verified, backupUid: "other" } } }),
  ).toBe("Failed");
});

test("three attempts are made, and none where another cannot help", () => {
  const failed = { state: "failed" as const, reason: "StoreUnavailable", message: "" };
  expect(phaseAfter({ worker: failed, status: { attempt: 2 } })).toBe("Pending");
  expect(phaseAfter({ worker: failed, status: { attempt: 3 } })).toBe("Failed");
  expect(phaseAfter({ worker: { ...failed, reason: "ContentDiffers" } })).toBe("Failed");
});

test("all attempts together have a limit", () => {
  expect(phaseAfter({ nowMs: nowMs + 3_600_000 })).toBe("Failed");
});

test("a last snapshot waits for no primary to be recorded: nobody records one any more", () => {
  const unrecorded = (metadata: object) => ({ metadata, status: {} }) as unknown as SampleDBObject;
  const decided = (db: SampleDBObject, primary: boolean) => {
    const { backup, ...o } = observed({ db });
    return decideBackup({ ...o, backup: { ...backup, spec: { ...spec, primary } } }).do;
  };
  const going = { deletionTimestamp: "2026-01-01T00:00:30Z" };
  expect(decided(unrecorded(going), true)).toBe("start");
  expect(decided(unrecorded(going), false)).toBe("wait");
  expect(decided(unrecorded({}), true)).toBe("wait");
});
