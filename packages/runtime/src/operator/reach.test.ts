/** What an operator does at its start about kinds that the cluster does not serve. */
import { ApiError, type Client, ClientError } from "@keelson/client";
import { dynamicKind } from "@keelson/core";
import { expect, test } from "vitest";
import { controller } from "../controller/controller.ts";
import { done } from "../controller/outcome.ts";
import { reach } from "./reach.ts";

const Boat = dynamicKind({
  group: "example.com",
  version: "v1",
  kind: "Boat",
  resource: "boats",
  scope: "Namespaced",
});
const boats = controller(Boat, { reconcile: async () => done() });

test("waits for a kind whose definition is there, until the server tells of it", async () => {
  const server = fakeServer({
    servedAfter: 3,
    definition: () => ({ metadata: { name: "boats.example.com" } }),
  });
  expect(await reach(server.client, {}, [boats])).toBe(server.client);
  expect(server.asked).toBe(4);
});

test("waits when it may not see definitions", async () => {
  const server = fakeServer({
    servedAfter: 3,
    definition: () => {
      throw new ApiError({ code: 403, reason: "Forbidden" }, { doing: "get the definition" });
    },
  });
  expect(await reach(server.client, {}, [boats])).toBe(server.client);
});

test("refuses a kind that has no definition at once", async () => {
  const server = fakeServer({ servedAfter: 3, definition: () => undefined });
  await expect(reach(server.client, {}, [boats])).rejects.toThrow("which the cluster does not serve");
  expect(server.asked).toBe(1);
});

test("refuses a kind that is not served 10 seconds later", async () => {
  const server = fakeServer({ servedAfter: Number.POSITIVE_INFINITY, definition: () => ({}) });
  await expect(reach(server.client, {}, [boats])).rejects.toMatchObject({ code: "KindMissing" });
  expect(server.clockMs()).toBe(10_000);
});

/** A server that tells of Boat after so many questions; its time passes by waiting alone. */
function fakeServer({ servedAfter, definition }: { servedAfter: number; definition: () => unknown }) {
  let asked = 0;
  let nowMs = 0;
  const client = {
    clock: {
      monotonic: () => nowMs,
      timer(delayMs: number, run: () => void) {
        nowMs += delayMs;
        queueMicrotask(run);
      },
    },
    discover: async () => {
      asked += 1;
      if (asked <= servedAfter) throw new ClientError("KindUnknown", "the server has no Boat");
    },
    kind: () => ({ find: async () => definition() }),
  };
  return {
    client: client as unknown as Client,
    clockMs: () => nowMs,
    get asked() {
      return asked;
    },
  };
}
