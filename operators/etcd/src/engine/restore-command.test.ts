import { describe, expect, it } from "vitest";
import { canBumpRevisions, restoreCommand } from "./restore-command.ts";

describe("the command that restores", () => {
  const options = {
    file: "f",
    dataDirectory: "d",
    member: "m",
    peerUrl: "http://m",
    token: "t",
    bumpRevisions: 5,
  };

  it("is the client's in 3.4, which cannot raise revisions before 3.4.27", () => {
    expect(restoreCommand({ ...options, version: "3.4.23" })[0]).toBe("/usr/local/bin/etcdctl");
    expect(restoreCommand({ ...options, version: "3.4.23" }).join(" ")).not.toContain("bump");
    expect(restoreCommand({ ...options, version: "3.4.27" }).join(" ")).toContain("--bump-revision=5");
  });

  it.each([
    ["3.5.9", false],
    ["3.5.10", true],
    ["3.6.0", true],
    ["3.7.3", true],
  ])("of %s can raise revisions: %s", (version, can) => {
    expect(canBumpRevisions(version)).toBe(can);
  });
});
