/** The guide shows code that is compiled and run: every block of it stands, word for word, in the file it names. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

const root = new URL("../../../", import.meta.url);

const page = await readFile(new URL("docs/sdk.md", root), "utf8");
const blocks = [...page.matchAll(/^```ts\n(?<code>.*?)^```$/gms)].map(
  (match) => match.groups?.["code"] ?? "",
);

test("the guide has code", () => {
  expect(blocks.length).toBeGreaterThan(8);
});

test.each(blocks.map((code) => [code.split("\n")[0], code]))("%s is what runs", async (heading, code) => {
  const path = /^\/\/ (examples\/[\w./-]+\.ts)$/.exec(heading ?? "")?.[1];
  expect(path, "a block begins with the file it is from").toBeDefined();
  const source = await readFile(new URL(path ?? "", root), "utf8");
  expect(source).toContain(code?.slice((heading ?? "").length + 1).trim());
});
