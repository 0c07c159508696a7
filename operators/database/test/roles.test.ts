/** When the operator has the primary bring about the roles of the spec, with an agent that answers as it is told. */
import { cluster } from "@keelson/testing";
import { Lease, Pod } from "keelson/kinds";
import { expect, test } from "vitest";
import type { AgentCall } from "../src/agent/wire.ts";
import { Database, databaseController } from "../src/index.ts";

const here = { namespace: "default", name: "orders" };

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
    await c.client.kind(Lease).patch(here, { type: "merge", body: { metadata: { annotations }, spec } });
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
