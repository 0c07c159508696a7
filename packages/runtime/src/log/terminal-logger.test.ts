import { expect, test } from "vitest";
import { terminalLogger } from "./terminal-logger.ts";

test("a person reads the time, the level, the sentence with its cause, and the rest", () => {
  const lines: string[] = [];
  const now = () => Date.UTC(2026, 0, 1, 11, 4, 12);
  const log = terminalLogger({ write: (line) => lines.push(line), now }).child({ controller: "cache" });
  log.info("caches are complete", { objects: 3 });
  log.error("the operator could not start", {
    error: Object.assign(new Error("no route"), { code: "Away" }),
  });
  log.debug("not asked for");
  expect(lines).toEqual([
    "11:04:12 info   caches are complete  controller=cache  objects=3\n",
    "11:04:12 error  the operator could not start: no route  controller=cache  code=Away\n",
  ]);
});

test("a fault of the program shows where it happened", () => {
  const lines: string[] = [];
  terminalLogger({ write: (line) => lines.push(line), now: () => 0 }).error("failed", {
    error: new Error("oh"),
  });
  expect(lines[0]).toMatch(/failed: oh\nError: oh\n +at /);
});
