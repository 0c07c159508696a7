/** Random stories with fixed seeds: a sample of what `npm run explore -- --operator graphs` plays. */
import { expect, test } from "vitest";
import { story } from "./explore/story.ts";

test.each([1, 2, 3, 4])("story %i ends with everything as it was asked for", async (seed) => {
  expect(await story(seed)).toBeUndefined();
});
