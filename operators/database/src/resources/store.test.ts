import { expect, test } from "vitest";
import type { DatabaseBackupObject } from "../api/backup.ts";
import { nameInStore } from "./store.ts";

const backup = (uid: string, status: object = {}) =>
  ({ metadata: { name: "before-release", uid }, status }) as unknown as DatabaseBackupObject;

test("a backup that is made again under its name is not the one that lies in the store", () => {
  expect(nameInStore(backup("11111111-a"))).not.toBe(nameInStore(backup("22222222-b")));
});

test("one that has begun keeps its name, as those of earlier releases", () => {
  const location = { claim: "backups", directory: "d", name: "before-release" };
  expect(nameInStore(backup("11111111-a", { location }))).toBe("before-release");
});
