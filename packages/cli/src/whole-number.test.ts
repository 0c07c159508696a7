import { expect, test } from "vitest";
import { PORT, wholeNumber } from "./whole-number.ts";

test("takes whole numbers within the bounds", () => {
  expect(["0", "80", "65535"].map(wholeNumber(PORT))).toEqual([0, 80, 65_535]);
});

test.each(["-1", "1.5", "65536", "ten", "", "0x10", "1e3"])("refuses %j in words", (text) => {
  expect(() => wholeNumber(PORT)(text)).toThrow("it must be a whole number from 0 to 65535");
});
