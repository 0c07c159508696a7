import { describe, expect, test } from "vitest";
import { compareVersions, tagAccepts } from "./version-tag.ts";

describe("tags", () => {
  test.each(["7", "7.0", "7.0.15", "v7.0.15", "latest", "", "7.0.15-0", "7-bookworm", "7.0-slim-bookworm"])(
    "%j accepts 7.0.15",
    (tag) => expect(tagAccepts(tag, "7.0.15")).toBe(true),
  );

  test.each(["7.0.1", "6", "7-alpine", "70", "7.0.15.1", "edge"])("%j does not accept 7.0.15", (tag) =>
    expect(tagAccepts(tag, "7.0.15")).toBe(false),
  );

  test("a recipe's own names are accepted", () => {
    expect(tagAccepts("stable", "1.35.0", ["stable"])).toBe(true);
  });

  test("versions are ordered by number, not by letter", () => {
    expect(["3.5.9", "3.10.0", "3.5.35"].sort(compareVersions)).toEqual(["3.5.9", "3.5.35", "3.10.0"]);
  });
});
