import { once } from "node:events";
import { expect, test } from "vitest";
import type { NodeApi } from "../api/api.ts";
import { cuttable } from "./cuttable-api.ts";

/** Says how often it was opened, and then waits for its end. */
function countingApi() {
  let opened = 0;
  const api = {
    findNode: () => Promise.resolve("found"),
    async *followPods(_: string, signal: AbortSignal) {
      yield ++opened;
      if (!signal.aborted) await once(signal, "abort");
    },
  };
  return api as unknown as NodeApi;
}

test("what is asked over a cut line fails, and works when the network is restored", async () => {
  const line = cuttable(countingApi());
  line.cut();
  await expect(line.api.findNode("n")).rejects.toThrow("cut off");
  line.mend();
  await expect(line.api.findNode("n")).resolves.toBe("found");
});

test("what is followed over a cut line waits, and begins again when the network is restored", async () => {
  const line = cuttable(countingApi());
  const end = new AbortController();
  const events = line.api.followPods("n", end.signal)[Symbol.asyncIterator]();
  expect((await events.next()).value).toBe(1);
  line.cut();
  const next = events.next();
  line.mend();
  expect((await next).value).toBe(2);
  end.abort();
  expect((await events.next()).done).toBe(true);
});

test("a cut line does not keep a follower from its end", async () => {
  const line = cuttable(countingApi());
  const end = new AbortController();
  line.cut();
  const events = line.api.followPods("n", end.signal)[Symbol.asyncIterator]();
  const next = events.next();
  end.abort();
  expect((await next).done).toBe(true);
});
