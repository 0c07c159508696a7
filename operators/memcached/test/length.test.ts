/** The README states how long this operator is; this keeps the statement true. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

test("the README states the operator's length", async () => {
  const sources = await Promise.all(["api.ts", "controller.ts"].map((name) => read(`../src/${name}`)));
  const lines = sources.flatMap((source) => source.split("\n"));
  const code = lines.filter((line) => line.trim() !== "" && !/^\s*(\/\/|\/\*|\*)/.test(line));
  const row = /^\| \[operators\/memcached\]\S* +\| (?<lines>\d+) /m.exec(await read("../../../README.md"));
  expect(row?.groups?.["lines"]).toBe(String(code.length));
});

async function read(path: string): Promise<string> {
  return await readFile(new URL(path, import.meta.url), "utf8");
}
