import { expect, test } from "vitest";
import { HorizonWatch, type Moment } from "./horizon.ts";

const segment = (n: number) => `0000000300000000000000A${n}`;
const moment = (time: string, segment: string, snapshot: string): Moment => ({
  ...{ time, segment, snapshot },
  lsn: `0/${time}`,
});

test("what is committed counts when its segment is archived, as of when that was last written", () => {
  const watch = new HorizonWatch();
  expect(watch.look(moment("10", segment(1), "5:5:"))).toBeUndefined();
  expect(watch.look(moment("11", segment(1), "6:6:"))).toBeUndefined();
  expect(watch.look(moment("12", segment(2), "7:7:"), segment(0))).toBeUndefined();
  expect(watch.look(moment("13", segment(2), "8:8:"), segment(1))).toEqual({
    time: "11",
    lsn: "0/11",
    timeline: 3,
  });
});

test("while nothing is committed, the horizon goes on with the clock", () => {
  const watch = new HorizonWatch();
  watch.look(moment("10", segment(1), "5:5:"));
  expect(watch.look(moment("20", segment(2), "5:5:"), segment(1))).toEqual({
    time: "20",
    lsn: "0/10",
    timeline: 3,
  });
  expect(watch.look(moment("30", segment(2), "5:5:"), segment(1))).toEqual({
    time: "30",
    lsn: "0/10",
    timeline: 3,
  });
  expect(watch.look(moment("40", segment(2), "6:6:"), segment(1))).toEqual({
    time: "30",
    lsn: "0/10",
    timeline: 3,
  });
});

test("a transaction that ends late stops the horizon, though no newer one has begun", () => {
  const watch = new HorizonWatch();
  watch.look(moment("10", segment(1), "5:9:5"));
  expect(watch.look(moment("20", segment(2), "9:9:"), segment(1))).toEqual({
    time: "10",
    lsn: "0/10",
    timeline: 3,
  });
});

test("segments that were archived on an older timeline say nothing of the present one", () => {
  const watch = new HorizonWatch();
  expect(
    watch.look(moment("10", "000000020000000000000003", "5:5:"), "000000010000000000000009"),
  ).toBeUndefined();
  expect(
    watch.look(moment("11", "000000020000000000000003", "5:5:"), "000000010000000000000009"),
  ).toBeUndefined();
});
