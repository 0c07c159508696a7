/** What the operator makes of a Database, on the embedded API server with exactly the generated role. */
import { cluster } from "@keelson/testing";
import { Lease, PersistentVolumeClaim, Pod, Role, Secret, Service } from "keelson/kinds";
import { expect, test } from "vitest";
import { Database, databaseController } from "../src/index.ts";

const here = { namespace: "default", name: "orders" };
const lease = { namespace: "default", name: "orders-primary" };
const controllers = [databaseController({ agentImage: "operator:1" })];

test("the first instance comes alone, and everything around it is there before", async () => {
  await using c = await cluster({ controllers });
  await c.client.kind(Database).create(Database.object({ metadata: here, spec: { version: "15" } }));
  await c.converges({ ready: false, writesWhenIdle: 0 });
  const names = (items: readonly { metadata: { name: string } }[]) =>
    items.map(({ metadata }) => metadata.name).sort();
  expect(names((await c.client.kind(Pod).list(here)).items)).toEqual(["orders-0"]);
  expect(names((await c.client.kind(PersistentVolumeClaim).list(here)).items)).toEqual(["orders-0"]);
  expect(names((await c.client.kind(Service).list(here)).items)).toEqual(
    expect.arrayContaining(["orders", "orders-instances", "orders-r", "orders-ro"]),
  );
  const { metadata } = await c.client.kind(Lease).get(lease);
  const policy: unknown = JSON.parse(metadata.annotations?.["database.keelson.dev/policy"] ?? "{}");
  expect(policy).toMatchObject({
    instances: ["orders-0", "orders-1", "orders-2"],
    initialInstance: "orders-0",
  });
  const role = await c.client.kind(Role).get({ ...here, name: "orders-agent" });
  expect(role.rules?.flatMap(({ verbs }) => verbs)).toEqual(["get", "patch", "get", "patch"]);
});

test("the agents' key stays the same, and is in no other object", async () => {
  await using c = await cluster({ controllers });
  await c.client.kind(Database).create(Database.object({ metadata: here, spec: { version: "15" } }));
  await c.converges({ ready: false });
  const secret = { ...here, name: "orders-agent" };
  const before = await c.client.kind(Secret).get(secret);
  await c.client
    .kind(Database)
    .patch(here, { type: "merge", body: { spec: { parameters: { work_mem: "8MB" } } } });
  await c.converges({ ready: false });
  expect((await c.client.kind(Secret).get(secret)).data).toEqual(before.data);
  const pod = JSON.stringify(await c.client.kind(Pod).get({ ...here, name: "orders-0" }));
  for (const value of Object.values(before.data ?? {})) expect(pod).not.toContain(value);
});

test("a restore that cannot begin says why", async () => {
  await using c = await cluster({ controllers });
  const spec = { version: "15", restoreFrom: { backup: "none" } };
  await c.client.kind(Database).create(Database.object({ metadata: here, spec }));
  await c.converges({ ready: false });
  const { status } = await c.client.kind(Database).get(here);
  expect(status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({ reason: "BackupPending" });
  expect((await c.client.kind(Pod).list(here)).items).toEqual([]);
});

test("what PostgreSQL trusts stays trusted when the authority's Secret is deleted", async () => {
  await using c = await cluster({ controllers });
  await c.client.kind(Database).create(Database.object({ metadata: here, spec: { version: "15" } }));
  await c.converges({ ready: false });
  const secrets = c.client.kind(Secret);
  const text = (data: { [key: string]: string } | undefined, key: string) =>
    Buffer.from(data?.[key] ?? "", "base64").toString();
  const before = (await secrets.get({ ...here, name: "orders-tls" })).data;
  await secrets.delete({ ...here, name: "orders-ca" });
  await c.converges({ ready: false });
  const after = (await secrets.get({ ...here, name: "orders-tls" })).data;
  // Nobody trusts the new authority yet, so it issues nothing.
  expect(text(after, "tls.crt")).toBe(text(before, "tls.crt"));
  expect(text(after, "ca.crt")).toContain(text(before, "ca.crt").trim());
  expect(text(after, "ca.crt")).not.toBe(text(before, "ca.crt"));
});
