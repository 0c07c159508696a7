/** What the operator does when a Database is deleted, on the embedded API server with exactly the generated role. */
import { cluster } from "@keelson/testing";
import { Lease, PersistentVolume, PersistentVolumeClaim, Pod, Secret, Service } from "keelson/kinds";
import { describe, expect, test } from "vitest";
import { Database, databaseController } from "../src/index.ts";

const here = { namespace: "default", name: "orders" };
const lease = { namespace: "default", name: "orders-primary" };
const controllers = [databaseController({ agentImage: "operator:1" })];

/** A Database whose record says that there is data, though no pod runs. */
async function withData(c: Awaited<ReturnType<typeof cluster>>, spec: object): Promise<void> {
  await c.client.kind(Database).create(Database.object({ metadata: here, spec: { version: "15", ...spec } }));
  await c.converges({ ready: false });
  const published = { systemId: "7000", timeline: 1, timelineEpoch: 1, quorums: [] };
  const annotations = { "database.keelson.dev/published": JSON.stringify(published) };
  await c.client.kind(Lease).patch(lease, { type: "merge", body: { metadata: { annotations } } });
  await c.client
    .kind(Database)
    .patch(here, { type: "merge", body: { metadata: { annotations: { touched: "1" } } } });
  await c.converges({ ready: false });
  expect((await c.client.kind(Database).get(here)).status?.systemId).toBe("7000");
}

const left = async (c: Awaited<ReturnType<typeof cluster>>) => ({
  database: (await c.client.kind(Database).find(here)) !== undefined,
  claims: (await c.client.kind(PersistentVolumeClaim).list(here)).items.filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  ).length,
  pods: (await c.client.kind(Pod).list(here)).items.length,
  lease: (await c.client.kind(Lease).find(lease)) !== undefined,
  secrets: (await c.client.kind(Secret).list(here)).items.length,
});

test("a Lease of an application of the same name stays as it is", async () => {
  await using c = await cluster({ controllers });
  const spec = { holderIdentity: "orders-app-7", leaseTransitions: 3 };
  const theirs = await c.client.kind(Lease).create({ metadata: here, spec });
  await withData(c, { onDelete: "Retain" });
  await c.client.kind(Database).delete(here);
  await c.converges({ ready: false });
  expect(await c.client.kind(Lease).get(here)).toEqual(theirs);
});

test("with --cascade=orphan everything stays, though a pass that was under way put every reference back", async () => {
  await using c = await cluster({ controllers });
  await withData(c, { onDelete: "Delete" });
  c.managers[0]?.pause();
  await c.client.kind(Database).delete(here, { propagation: "Orphan" });
  const { metadata } = await c.client.kind(Database).get(here);
  // The garbage collector is done with it.
  const finalizers = metadata.finalizers?.filter((each) => each !== "orphan") ?? [];
  await c.client.kind(Database).patch(here, { type: "merge", body: { metadata: { finalizers } } });
  c.managers[0]?.resume();
  await c.converges({ ready: false });
  expect(await left(c)).toMatchObject({ database: false, claims: 3, pods: 3, lease: true });
});

test("a reference that a person took off one Service keeps nothing else, though the status is lost too", async () => {
  await using c = await cluster({ controllers });
  await withData(c, { onDelete: "Delete" });
  c.managers[0]?.pause();
  const merge = (body: object) => ({ type: "merge" as const, body: body as never });
  await c.client.kind(Service).patch(here, merge({ metadata: { ownerReferences: null } }));
  await c.client
    .kind(Database)
    .subresource("status")
    .patch(here, merge({ status: null }));
  await c.client.kind(Database).delete(here);
  c.managers[0]?.resume();
  await c.converges({ ready: false });
  expect(await left(c)).toMatchObject({ claims: 0, pods: 0 });
});

test("with Delete the claims go, and the Database when they are gone", async () => {
  await using c = await cluster({ controllers });
  await withData(c, { onDelete: "Delete" });
  await c.client.kind(Database).delete(here);
  await c.converges({ ready: false });
  expect(await left(c)).toMatchObject({ database: true, claims: 0, pods: 0 });
  // Nobody takes the protection off claims here.
  for (const { metadata } of (await c.client.kind(PersistentVolumeClaim).list(here)).items) {
    const body = { metadata: { finalizers: null } } as never;
    await c.client.kind(PersistentVolumeClaim).patch(metadata, { type: "merge", body });
  }
  await c.converges({ ready: false });
  expect(await left(c)).toEqual({ database: false, claims: 0, pods: 0, lease: false, secrets: 0 });
});

test("with Retain the claims, the record and the passwords are left", async () => {
  await using c = await cluster({ controllers });
  await withData(c, { onDelete: "Retain" });
  await c.client.kind(Database).delete(here);
  await c.converges({ ready: false });
  expect(await left(c)).toMatchObject({ database: false, claims: 3, pods: 0, lease: true });
  expect((await left(c)).secrets).toBeGreaterThan(0);
});

test.each([
  ["Snapshot", "Delete"],
  ["Retain", "Retain"],
])(
  "with %s the volume of an instance that is not wanted any more has the policy %s",
  async (onDelete, policy) => {
    await using c = await cluster({ controllers });
    await withData(c, { onDelete });
    const [volumes, claims] = [c.client.kind(PersistentVolume), c.client.kind(PersistentVolumeClaim)];
    const name = "volume-2";
    await volumes.create({
      metadata: { name },
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        hostPath: { path: "/x" },
        persistentVolumeReclaimPolicy: "Delete",
      },
    });
    const claim = { ...here, name: "orders-2" };
    await claims.patch(claim, { type: "merge", body: { spec: { volumeName: name } } });
    await claims.subresource("status").patch(claim, { type: "merge", body: { status: { phase: "Bound" } } });
    await c.converges({ ready: false });
    expect((await volumes.get({ name })).spec?.persistentVolumeReclaimPolicy).toBe("Retain");
    await c.client.kind(Database).patch(here, { type: "merge", body: { spec: { instances: 2 } } });
    await c.converges({ ready: false });
    expect(await left(c)).toMatchObject({ claims: 2, pods: 2 });
    expect((await volumes.get({ name })).spec?.persistentVolumeReclaimPolicy).toBe(policy);
  },
);

test("with Snapshot and no store the claims are left", async () => {
  await using c = await cluster({ controllers });
  await withData(c, { onDelete: "Snapshot" });
  await c.client.kind(Database).delete(here);
  await c.converges({ ready: false });
  expect(await left(c)).toMatchObject({ database: false, claims: 3, pods: 0, lease: true });
});

test("with Snapshot clients are shut out first, and nothing is removed while no backup is done", async () => {
  await using c = await cluster({ controllers });
  await withData(c, { onDelete: "Snapshot", backup: { store: { claim: { name: "backups" } } } });
  await c.client.kind(Database).delete(here);
  await c.converges({ ready: false });
  expect(await left(c)).toMatchObject({ database: true, claims: 3, pods: 3, lease: true });
  const { metadata } = await c.client.kind(Lease).get(lease);
  const policy = JSON.parse(metadata.annotations?.["database.keelson.dev/policy"] ?? "{}") as object;
  expect(policy).toMatchObject({ closed: true });
});

describe("with Snapshot nothing is removed without a backup, although what knew of the data is lost:", () => {
  const lose: { readonly [what: string]: (c: Awaited<ReturnType<typeof cluster>>) => Promise<void> } = {
    "the Lease": async (c) => {
      await c.client.kind(Lease).delete(lease);
      await c.converges({ ready: false });
    },
    "the status": async (c) =>
      void (await c.client
        .kind(Database)
        .subresource("status")
        .patch(here, { type: "merge", body: { status: null } as never })),
    "the Lease and the status": async (c) => {
      await c.client.kind(Lease).delete(lease);
      await lose["the status"]?.(c);
      await c.converges({ ready: false });
    },
  };

  test.each(Object.entries(lose))("%s", async (_, begin) => {
    await using c = await cluster({ controllers });
    await withData(c, { onDelete: "Snapshot", backup: { store: { claim: { name: "backups" } } } });
    await begin(c);
    await c.client.kind(Database).delete(here);
    await c.converges({ ready: false });
    expect(await left(c)).toMatchObject({ database: true, claims: 3, pods: 3 });
  });
});

describe("a deletion in the foreground", () => {
  /** The garbage collector and a node, and no agent that answers. */
  const workloads = {
    controllers,
    workloads: true,
    connect: async () => {
      throw new Error("nobody answers");
    },
  };
  const owned = async (c: Awaited<ReturnType<typeof cluster>>) => ({
    pods: (await c.client.kind(Pod).list(here)).items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.uid)
      .sort(),
    names: (await c.client.kind(Service).find({ ...here, name: "orders-instances" }))?.metadata.uid,
  });

  test("leaves the instances and their names until the last backup is done", async () => {
    await using c = await cluster(workloads);
    await withData(c, { onDelete: "Snapshot", backup: { store: { claim: { name: "backups" } } } });
    const before = await owned(c);
    expect(before.pods).toHaveLength(3);
    await c.client.kind(Database).delete(here, { propagation: "Foreground" });
    await c.advance(120_000);
    expect(await c.client.kind(Service).find(here)).toBeUndefined();
    expect(await owned(c)).toEqual(before);
    expect(await c.client.kind(Database).find(here)).toBeDefined();
  });

  test("leaves nothing when nothing is to be kept", async () => {
    await using c = await cluster(workloads);
    await withData(c, { onDelete: "Delete" });
    await c.client.kind(Database).delete(here, { propagation: "Foreground" });
    await c.until(async () => (await c.client.kind(Database).find(here)) === undefined);
    await c.advance(60_000);
    expect(await left(c)).toEqual({ database: false, claims: 0, pods: 0, lease: false, secrets: 0 });
    expect((await owned(c)).names).toBeUndefined();
  });
});
