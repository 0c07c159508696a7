import type { Client } from "@keelson/client";
import { type AnyKind, dynamicKind, type Stored, systemRandom } from "@keelson/core";
import { VirtualClock } from "@keelson/testing/clock";
import { expect, test } from "vitest";
import type { EveryKind } from "../everything/every-kind.ts";
import { Collector } from "./collector.ts";

const kind: AnyKind = dynamicKind({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  resource: "configmaps",
  scope: "Namespaced",
});

const object = (name: string, owner?: string): Stored => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    ...{ namespace: "default", name, uid: name, resourceVersion: "1", creationTimestamp: "" },
    ...(owner && { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: owner, uid: owner }] }),
  },
});

test("what an owner leaves is collected when others have had the time to hear of the owner's end", async () => {
  const clock = new VirtualClock();
  const end = new AbortController();
  const [owner, child] = [object("owner"), object("child", "owner")];
  const deleted: string[] = [];
  const client = {
    kind: () => ({
      find: async ({ name }: { name: string }) => (name === "child" ? child : undefined),
      delete: async ({ name }: { name: string }) => void deleted.push(name),
    }),
  } as unknown as Client;
  let tell: Parameters<EveryKind["onChange"]>[0] = () => undefined;
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const collector = new Collector({
    ...{ client, clock, random: systemRandom, signal: end.signal },
    everything: { onChange: (handler) => (tell = handler), find: () => kind },
    log: log as never,
    event: () => undefined,
  });
  collector.start();
  const change = { key: "", resourceVersion: "1", previous: undefined, initial: false };
  for (const each of [owner, child]) tell(kind, { ...change, type: "added", object: each });
  await clock.advance(0);
  tell(kind, { ...change, type: "deleted", object: owner });
  await clock.advance(10);
  expect(deleted).toEqual([]);
  await clock.advance(15);
  expect(deleted).toEqual(["child"]);
  end.abort();
});
