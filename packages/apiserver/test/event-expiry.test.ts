/** Events are kept for an hour after they were last written, and then deleted. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FlagError } from "../src/index.ts";
import { configMap, configMaps, ManualClock, Server } from "./harness.ts";

const minute = 60_000;
const events = "/api/v1/namespaces/default/events";
const newer = "/apis/events.k8s.io/v1/namespaces/default/events";
const event = (name: string) => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name },
  involvedObject: { namespace: "default" },
  // The author's own times count for nothing.
  firstTimestamp: "2030-01-01T00:00:00Z",
  lastTimestamp: "2030-01-01T00:00:00Z",
});

async function names(server: Server): Promise<string[]> {
  const { body } = await server.get(events);
  return body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
}

describe("an event", () => {
  test("is deleted an hour after its last write, and watchers are told", async () => {
    await using server = await Server.start();
    await server.post(configMaps, configMap("stays"));
    await server.post(events, event("old"));
    await server.post(events, event("repeated"));
    await server.clock.advance(30 * minute);
    await server.merge(`${events}/repeated`, { count: 2 });
    await server.clock.advance(20 * minute);
    const watching = await server.watch(newer);
    await server.clock.advance(9 * minute);
    expect(await names(server)).toEqual(["old", "repeated"]);
    await server.clock.advance(2 * minute);
    expect(await names(server)).toEqual(["repeated"]);
    expect(watching.seen).toContain("DELETED old");
    await server.clock.advance(30 * minute);
    expect(await names(server)).toEqual([]);
    watching.stop();
    expect((await server.get(`${configMaps}/stays`)).status).toBe(200);
  });

  test("expires while the server is down, too", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "keelson-events-"));
    try {
      const clock = new ManualClock();
      {
        await using server = await Server.start({ dataDir, clock });
        await server.post(events, event("old"));
      }
      await clock.advance(2 * 60 * minute);
      await using server = await Server.start({ dataDir, clock });
      await clock.advance(minute);
      expect(await names(server)).toEqual([]);
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });

  test("goes with thousands of others in several turns", async () => {
    await using server = await Server.start();
    for (let i = 0; i < 2500; i++) await server.post(events, event(`e${i}`));
    await server.clock.advance(61 * minute);
    expect(await names(server)).toEqual([]);
  });

  test("is kept as long as --event-ttl says", async () => {
    await using server = await Server.start({ flags: { "event-ttl": "5m" } });
    await server.post(events, event("short"));
    await server.clock.advance(6 * minute);
    expect(await names(server)).toEqual([]);
    await expect(Server.start({ flags: { "event-ttl": "soon" } })).rejects.toThrow(FlagError);
  });
});

test("no timer is set while there are no events", async () => {
  await using server = await Server.start();
  const { pending } = server.clock;
  await server.post(configMaps, configMap("a"));
  expect(server.clock.pending).toBe(pending);
  await server.post(events, event("e"));
  expect(server.clock.pending).toBe(pending + 1);
  await server.clock.advance(61 * minute);
  expect(server.clock.pending).toBe(pending);
});
