import { expect, test } from "vitest";
import type { Observed } from "../observe/observed.ts";
import { observedFixture } from "./fixture.ts";
import { repair } from "./repair.ts";

/** Servers with these ordinals do not start, and say so. */
function damaged(ordinals: readonly number[], obstacle: string): Observed {
  const o = observedFixture();
  const servers = o.servers.map((server) =>
    ordinals.includes(server.ordinal)
      ? { ...server, answer: undefined, pod: server.pod && { ...server.pod, obstacle } }
      : server,
  );
  return { ...o, servers };
}

const words = "CrashLoopBackOff: Bad file format reading the append only file appendonly.aof.1.incr.aof";

test("a replica with damaged files gets an empty volume", () => {
  expect(repair(damaged([1], words)).actions).toMatchObject([
    { do: "deleteClaim", server: "db-1" },
    { do: "deletePod", server: "db-1" },
  ]);
});

test("a replica that fails for another reason keeps its volume", () => {
  expect(repair(damaged([1], "ImagePullBackOff"))).toEqual({});
});

test("nothing is given up while no primary leads", () => {
  expect(repair(damaged([0, 1], words))).toEqual({});
});
