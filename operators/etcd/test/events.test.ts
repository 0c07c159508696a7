import { Event } from "keelson/kinds";
import { expect, test } from "vitest";
import { EtcdCluster } from "../src/api/cluster.ts";
import { ref, World } from "./simulation/world.ts";

test("every action is an event: additions, restarts, removals and the deletion", {
  timeout: 120_000,
}, async () => {
  await using world = await World.start();
  await world.create({ size: 3, version: "3.6.16", deletion: { volumes: "Remove" } });
  await world.settles(3);
  await world.change({ settings: { snapshotCount: 12_345 } });
  await world.settles(3);
  await world.change({ size: 1 });
  await world.settles(1);
  await world.cluster.client.kind(EtcdCluster).delete(ref);
  await world.cluster.advance(60_000);
  const { items } = await world.cluster.client.kind(Event).list({ namespace: ref.namespace });
  const messages = items.map(({ message }) => message);
  for (const sentence of [
    "members are found by example, clients by example-client",
    "drains leave at least 2 members running",
    "example-0 will be the first member",
    "example-0 gets its volume",
    "the volume of example-0 is marked as its own",
    "example-1 will join: 1 of 3 members",
    "example-1 votes and may serve",
    "a new configuration is tried by example-trial-",
    "a trial is over",
    "example-2 will leave: the cluster shrinks to 1",
    "example-2 has left",
    "drains leave at least 1 members running",
    "the members are stopped",
    "the volumes are deleted",
  ])
    expect(messages).toContainEqual(expect.stringContaining(sentence));
});
