/** The edits of the stopwatch fit the scaffold, and are as few as promised. */
import { expect, test } from "vitest";
import { apiFiles } from "../../packages/cli/src/scaffold/api-files.ts";
import { apiNames } from "../../packages/cli/src/scaffold/names.ts";
import { edited, edits, linesWritten } from "./edits.ts";

test("a Memcached is at most 40 lines more than the scaffold", () => {
  const api = apiNames({ kind: "Memcached", group: "memcached.example.com", version: "v1alpha1" });
  const files = new Map(apiFiles(api, "compose").map(({ content, path }) => [path, content]));
  const written = [...new Set(edits.map(({ file }) => file))].map((file) => {
    const before = files.get(file) ?? "";
    return linesWritten(before, edited(file, before));
  });
  expect(written.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(40);
});

test("a line counts when the other text has fewer of it", () => {
  expect(linesWritten("a\nb\nb", "a\nb\nc\nb\nb")).toBe(2);
});
