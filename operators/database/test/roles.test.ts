/** When the operator has the primary bring about the roles of the spec, with an agent that answers as it is told. */
import { cluster } from "@keelson/testing";
import { Lease, Pod, Secret } from "keelson/kinds";
import { expect, test } from "vitest";
import type { AgentCall } from "../src/agent/wire.ts";
import { Database, databaseController } from "../src/index.ts";

const here = { namespace: "default", name: "orders" };
const lease = { namespace: "default", name: "orders-primary" };

test("roles are brought about again on data that was restored in place", async () => {
  let applied = 0;
  const call: AgentCall = async <T>({ path }: { readonly path: string }) => {
    if (path === "/objects") applied++;
    const report = { name: "orders-0", role: "primary", serving: true, standbys: [], pendingRestart: [] };
    return (path === "/report" ? report : []) as T;
  };
  await using c = await cluster({
    controllers: [databaseController({ agentImage: "operator:1", call })],
    connect: async () => ({ host: "none", port: 1, [Symbol.asyncDispose]: async () => {} }),
  });
  await c.client
    .kind(Database)
    .create(Database.object({ metadata: here, spec: { version: "15", instances: 1 } }));
  await c.converges({ ready: false });
  const body = {
    status: { podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" as const }] },
  };
  await c.client
    .kind(Pod)
    .subresource("status")
    .patch({ ...here, name: "orders-0" }, { type: "merge", body });
  const serves = async (timeline: number) => {
    const published = { systemId: "7000", timeline, timelineEpoch: 1, quorums: [] };
    const annotations = { "database.keelson.dev/published": JSON.stringify(published) };
    const spec = { holderIdentity: "orders-0_uid", leaseTransitions: 1 };
    await c.client.kind(Lease).patch(lease, { type: "merge", body: { metadata: { annotations }, spec } });
    await c.advance(10_000);
  };
  await serves(1);
  expect(applied).toBe(1);
  await c.advance(30_000);
  expect(applied).toBe(1);
  // The same epoch, and another timeline: what a restore in place leaves.
  await serves(2);
  expect(applied).toBe(2);
});

test.each([
  ["another role", ["reports_eu", "reports-eu"], "orders-reports-eu"],
  ["the operator", ["CA"], "orders-ca"],
])("a role whose Secret is that of %s is refused, and the Secret stays as it is", async (_, roles, name) => {
  const call: AgentCall = async <T>({ path }: { readonly path: string }) => {
    const report = { name: "orders-0", role: "primary", serving: true, standbys: [], pendingRestart: [] };
    return (path === "/report" ? report : []) as T;
  };
  await using c = await cluster({
    controllers: [databaseController({ agentImage: "operator:1", call })],
    connect: async () => ({ host: "none", port: 1, [Symbol.asyncDispose]: async () => {} }),
  });
  const spec = { version: "15", instances: 1, roles: roles.map((role) => ({ name: role })) };
  await c.client.kind(Database).create(Database.object({ metadata: here, spec }));
  await c.converges({ ready: false });
  const secret = async () => (await c.client.kind(Secret).find({ ...here, name }))?.data;
  const before = await secret();
  const status = { podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" as const }] };
  await c.client
    .kind(Pod)
    .subresource("status")
    .patch({ ...here, name: "orders-0" }, { type: "merge", body: { status } });
  const published = { systemId: "7000", timeline: 1, timelineEpoch: 1, quorums: [] };
  const annotations = { "database.keelson.dev/published": JSON.stringify(published) };
  const holder = { holderIdentity: "orders-0_uid", leaseTransitions: 1 };
  await c.client
    .kind(Lease)
    .patch(lease, { type: "merge", body: { metadata: { annotations }, spec: holder } });
  await c.advance(10_000);
  const { status: now } = await c.client.kind(Database).get(here);
  const ready = now?.conditions?.find(({ type }) => type === "Ready");
  expect(ready).toMatchObject({ reason: "InvalidSpec", message: expect.stringContaining(name) });
  expect(await secret()).toEqual(before);
});
