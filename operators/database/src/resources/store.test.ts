import { expect, test } from "vitest";
import type { DatabaseBackupObject } from "../api/backup.ts";
import type { DatabaseObject } from "../api/database.ts";
import { dataUidOf, type LeaseRecord } from "../ha/state.ts";
import { hasStore, podFor } from "./pod.ts";
import { isStoredIn, nameInStore, type StorePlace, storeOf } from "./store.ts";

const backup = (uid: string, status: object = {}) =>
  ({ metadata: { name: "before-release", uid }, status }) as unknown as DatabaseBackupObject;

test("a backup that is made again under its name is not the one that lies in the store", () => {
  expect(nameInStore(backup("11111111-a"))).not.toBe(nameInStore(backup("22222222-b")));
});

test("one that has begun keeps its name, as those of earlier releases", () => {
  const location = { claim: "backups", directory: "d", name: "before-release" };
  expect(nameInStore(backup("11111111-a", { location }))).toBe("before-release");
});

const database = (uid: string, status?: object) =>
  ({
    metadata: { name: "orders", namespace: "shop", uid },
    spec: { backup: { store: { claim: { name: "backups", path: "" } } } },
    ...(status && { status }),
  }) as unknown as DatabaseObject;
const record = (databaseUid: string, systemId?: string) =>
  ({ published: { systemId, quorums: [] }, policy: { databaseUid } }) as unknown as LeaseRecord;
const placeOf = (object: DatabaseObject, seen: LeaseRecord | undefined) =>
  storeOf(object, dataUidOf(seen, object));

test("a Database that takes over the data of one of its name goes on in the same folder", () => {
  const before = placeOf(database("11111111-a"), record("11111111-a", "s"));
  expect(placeOf(database("22222222-b"), record("11111111-a", "s"))).toEqual(before);
  // While the Lease is lost.
  expect(placeOf(database("22222222-b", { dataUid: "11111111-a" }), undefined)).toEqual(before);
});

test("one that begins again has another folder", () => {
  expect(placeOf(database("22222222-b"), undefined)?.directory).toBe("shop-orders-22222222");
  // The Lease names the one before until there is data.
  expect(placeOf(database("22222222-b"), record("11111111-a"))?.directory).toBe("shop-orders-22222222");
});

test("backups of other data, or in a store of before, are not among its own", () => {
  const place = placeOf(database("11111111-a"), undefined);
  const at = (location: object) => backup("u", { location: { name: "n", ...location } });
  expect(isStoredIn(place, backup("u"))).toBe(true);
  expect(isStoredIn(place, at({ claim: "backups", directory: "shop-orders-11111111" }))).toBe(true);
  expect(isStoredIn(place, at({ claim: "backups", directory: "shop-orders-22222222" }))).toBe(false);
  expect(isStoredIn(place, at({ claim: "others", directory: "shop-orders-11111111" }))).toBe(false);
  expect(isStoredIn(undefined, at({ claim: "backups", directory: "shop-orders-11111111" }))).toBe(false);
});

const podWith = (store?: StorePlace) => {
  const pod = podFor({
    ...{ database: { name: "orders", namespace: "shop", uid: "u" }, instance: "orders-0", major: "15" },
    recipe: { image: "postgres:15", leaseSeconds: 8, tls: { require: false }, ...(store && { store }) },
    ...{ agentImage: "operator", installCommand: [], archive: true },
  });
  return structuredClone(pod) as Parameters<typeof hasStore>[0];
};

test("a pod stores where the spec said when it was made", () => {
  const place = { claim: "backups", directory: "d" };
  const s3 = { endpoint: "https://s3", region: "r", bucket: "b", prefix: "p", credentialsSecret: "s" };
  const bucket = { s3, directory: "d" };
  expect(hasStore(podWith(place), place)).toBe(true);
  expect(hasStore(podWith(place), { ...place, directory: "second/d" })).toBe(false);
  expect(hasStore(podWith(place), { ...place, claim: "others" })).toBe(false);
  expect(hasStore(podWith(), place)).toBe(false);
  expect(hasStore(podWith(bucket), bucket)).toBe(true);
  expect(hasStore(podWith(bucket), { ...bucket, s3: { ...s3, bucket: "c" } })).toBe(false);
  expect(hasStore(podWith(bucket), place)).toBe(false);
});
