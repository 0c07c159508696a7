import { expect, test } from "vitest";
import type { DatabaseObject } from "../api/database.ts";
import { digestOf, recipeOf } from "./recipe.ts";

const withBackup = (archive: boolean): DatabaseObject =>
  ({
    metadata: { name: "orders", namespace: "shop", uid: "0123456789" },
    spec: {
      ...{ image: "postgres", version: "15", failover: { leaseSeconds: 8 }, tls: { require: false } },
      backup: { archive, store: { claim: { name: "backups", path: "" } } },
    },
  }) as unknown as DatabaseObject;

test("pods are made again when the log is to be archived from now on, or no longer", () => {
  const [on, off] = [true, false].map((archive) =>
    digestOf(recipeOf(withBackup(archive), { version: "15", record: undefined })),
  );
  expect(on).not.toBe(off);
});
