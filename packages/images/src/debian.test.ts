import { describe, expect, test } from "vitest";
import { parseSimulation, upstreamVersion } from "./debian.ts";

describe("Debian versions", () => {
  test.each([
    ["5:7.0.15-1~deb12u10", "7.0.15"],
    ["3.4.23+dfsg-4+b5", "3.4.23"],
    ["15.13-0+deb12u1", "15.13"],
    ["1.22.1-9+deb12u2", "1.22.1"],
    ["1:1.35.0-4+b7", "1.35.0"],
    ["12.4+deb12u11", "12.11"],
  ])("%s is upstream's %s", (debian, upstream) => expect(upstreamVersion(debian)).toBe(upstream));

  test("apt's simulation names every package and its file, installed or not", () => {
    const output = [
      "Inst libjemalloc2 (5.3.0-1 Debian:12.11/stable [amd64])",
      "Inst bash [5.2.15-2+b8] (5.2.15-2+b13 Debian:12.15/oldstable [amd64])",
      "Inst redis-server (5:7.0.15-1~deb12u10 Debian-Security:12/stable-security [amd64])",
      "Conf redis-server (5:7.0.15-1~deb12u10 Debian-Security:12/stable-security [amd64])",
    ].join("\n");
    expect(parseSimulation(output, "/a").map(({ file }) => file)).toEqual([
      "/a/libjemalloc2_5.3.0-1_amd64.deb",
      "/a/bash_5.2.15-2+b13_amd64.deb",
      "/a/redis-server_5%3a7.0.15-1~deb12u10_amd64.deb",
    ]);
  });
});
