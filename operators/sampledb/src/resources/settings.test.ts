import { expect, test } from "vitest";
import { observedFixture } from "../decide/fixture.ts";
import { liveSettings, redisConf, restartSettings, settingsProblem } from "./settings.ts";
import { templateHash } from "./stateful-set.ts";
import { aclLines } from "./users.ts";

const specWith = (settings: Record<string, string>) => observedFixture({ spec: { settings } }).spec;

test.each([
  "appendonly",
  "replicaof",
  "dir",
  "requirepass",
  "min-replicas-to-write",
  "aclfile",
  "include",
  "port",
  "replica-ignore-maxmemory",
  "repl-ping-slave-period",
])("%s is decided by the operator", (name) => {
  expect(settingsProblem(specWith({ [name]: "x" }))).toContain(name);
});

test("a value cannot smuggle in another line", () => {
  expect(settingsProblem(specWith({ maxmemory: "1gb\nrequirepass x" }))).toContain("more than one line");
  expect(settingsProblem(specWith({ "maxmemory\nport": "1" }))).toContain("not the name");
  const conf = redisConf(specWith({ "proc-title-template": 'a "b" \\ c' }));
  expect(conf).toContain('proc-title-template "a \\"b\\" \\\\ c"\n');
});

test("what the operator decides comes last in the file", () => {
  const lines = redisConf(specWith({ maxmemory: "1gb" })).split("\n");
  expect(lines.indexOf("maxmemory 1gb")).toBeLessThan(lines.indexOf("appendonly yes"));
  expect(lines.at(-2)).toBe("include /run/redis/auth.conf");
});

test("only what Redis reads at its start replaces pods", () => {
  const before = templateHash(specWith({}), "7.0");
  expect(templateHash(specWith({ maxmemory: "1gb" }), "7.0")).toBe(before);
  expect(templateHash(specWith({ databases: "4" }), "7.0")).not.toBe(before);
  expect(templateHash(specWith({}), "8.0")).not.toBe(before);
  expect(restartSettings(specWith({ databases: "4", maxmemory: "1gb" }))).toEqual({ databases: "4" });
  expect(liveSettings(specWith({ databases: "4", maxmemory: "1gb" })).has("databases")).toBe(false);
});

test("what Redis knows under two names is told once", () => {
  expect(liveSettings(specWith({})).get("busy-reply-threshold")).toBe("1000");
  const own = liveSettings(specWith({ "lua-time-limit": "3000" }));
  expect([own.get("lua-time-limit"), own.has("busy-reply-threshold")]).toEqual(["3000", false]);
});

test("a user without a password cannot log in, and passwords are digests", () => {
  const lines = aclLines(specWith({}), { default: ["d1", "d2"] });
  expect(lines.find((line) => line.startsWith("user default "))).toContain("on #d1 #d2 ");
  expect(lines.find((line) => line.startsWith("user keelson-operator "))).toContain("off");
});
