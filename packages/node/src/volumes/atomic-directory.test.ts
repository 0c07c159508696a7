import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { writeAtomically } from "./atomic-directory.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "atomic-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const files = (content: Record<string, string>, mode = 0o644) =>
  new Map(Object.entries(content).map(([path, data]) => [path, { data: Buffer.from(data), mode }]));

test("files are reached through one link that changes at once", async () => {
  await writeAtomically(home, files({ "a.conf": "1", "sub/b": "2" }), { stamp: "one" });
  expect(readFileSync(join(home, "a.conf"), "utf8")).toBe("1");
  expect(readFileSync(join(home, "sub/b"), "utf8")).toBe("2");
  expect(readlinkSync(join(home, "a.conf"))).toBe("..data/a.conf");
  expect(readlinkSync(join(home, "sub"))).toBe("..data/sub");
  await writeAtomically(home, files({ "a.conf": "new", c: "3" }), { stamp: "two" });
  expect(readlinkSync(join(home, "..data"))).toBe("..two");
  expect(readdirSync(home).sort()).toEqual(["..data", "..two", "a.conf", "c"]);
  expect(readFileSync(join(home, "a.conf"), "utf8")).toBe("new");
});

test("the same content changes nothing, another mode does", async () => {
  expect(await writeAtomically(home, files({ a: "1" }), { stamp: "one" })).toBe(true);
  expect(await writeAtomically(home, files({ a: "1" }), { stamp: "two" })).toBe(false);
  expect(readlinkSync(join(home, "..data"))).toBe("..one");
  expect(await writeAtomically(home, files({ a: "1" }, 0o400), { stamp: "three" })).toBe(true);
  expect(statSync(join(home, "a")).mode & 0o777).toBe(0o400);
});
