import { VirtualClock } from "@keelson/testing/clock";
import { describe, expect, test } from "vitest";
import type { NodeApi, StoredPod } from "../api/api.ts";
import { TokenCache } from "./token-cache.ts";

const pod = { metadata: { name: "web", uid: "u1" }, spec: { containers: [] } } as unknown as StoredPod;

/** Tokens of a server whose clock differs by so much from the node's. */
function withServer(skewMs: number, longestSeconds = Number.POSITIVE_INFINITY) {
  const clock = new VirtualClock();
  let count = 0;
  const api = {
    createToken: ({ expirationSeconds }: { expirationSeconds: number }) => {
      const seconds = Math.min(expirationSeconds, longestSeconds);
      return Promise.resolve({ token: `${++count}`, expiresAt: clock.now() + skewMs + seconds * 1000 });
    },
  } as unknown as NodeApi;
  const cache = new TokenCache(api, clock);
  return { clock, get: (seconds = 600, audience?: string) => cache.get(pod, audience, seconds) };
}

describe("a token", () => {
  test.each([
    ["agree", 0],
    ["differ by an hour, the server ahead", 3_600_000],
    ["differ by an hour, the node ahead", -3_600_000],
  ])("is used for eight of its ten minutes when the clocks %s", async (_, skewMs) => {
    const { clock, get } = withServer(skewMs);
    expect(await get()).toBe("1");
    await clock.advance(479_000);
    expect(await get()).toBe("1");
    await clock.advance(1_000);
    expect(await get()).toBe("2");
  });

  test("that the server gives for less time is renewed the sooner, and none is used for longer than a day", async () => {
    const short = withServer(0, 60);
    expect(await short.get()).toBe("1");
    await short.clock.advance(48_000);
    expect(await short.get()).toBe("2");
    const long = withServer(0);
    expect(await long.get(10 * 86_400)).toBe("1");
    await long.clock.advance(86_399_000);
    expect(await long.get(10 * 86_400)).toBe("1");
    await long.clock.advance(1_000);
    expect(await long.get(10 * 86_400)).toBe("2");
  });

  test("is one for each audience and lifetime", async () => {
    const { get } = withServer(0);
    expect([await get(600), await get(600, "vault"), await get(3600), await get(600, "vault")]).toEqual([
      "1",
      "2",
      "3",
      "2",
    ]);
  });
});
