import { describe, expect, it } from "vitest";
import { compareVersions, isNewerMinor, minorOf, parseVersion } from "./version.ts";

describe("a version", () => {
  it.each([
    ["3.6.14", { major: 3, minor: 6, patch: 14 }],
    ["v3.6.14", { major: 3, minor: 6, patch: 14 }],
    ["7.0", { major: 7, minor: 0, patch: 0 }],
    ["17.2-1", { major: 17, minor: 2, patch: 0 }],
    ["latest", undefined],
    ["7", undefined],
  ])("%s is read", (text, version) => {
    expect(parseVersion(text)).toEqual(version);
  });

  it("is ordered by its numbers, not by its text", () => {
    const sorted = ["3.10.0", "x", "3.9.1", "3.9", "2.99.0"].sort(compareVersions);
    expect(sorted).toEqual(["x", "2.99.0", "3.9", "3.9.1", "3.10.0"]);
    expect(compareVersions("x", "y")).toBe(0);
    expect(compareVersions("1.0", "x")).toBe(1);
  });

  it("is of a newer minor only when the minor is newer", () => {
    expect(minorOf("3.6.14")).toBe("3.6");
    expect(isNewerMinor("3.7.0", "3.6.16")).toBe(true);
    expect(isNewerMinor("3.6.16", "3.6.1")).toBe(false);
    expect(isNewerMinor("3.10.0", "3.9.0")).toBe(true);
  });
});
