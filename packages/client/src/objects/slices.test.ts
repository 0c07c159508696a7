import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/fake-clock.ts";
import { Slices } from "./slices.ts";

describe("slices", () => {
  it("end after two milliseconds of work, and never for next to nothing", async () => {
    const clock = new FakeClock();
    const slices = new Slices(clock);
    await clock.advance(5);
    expect(slices.due(1_000)).toBe(false);
    expect(slices.due(20_000)).toBe(true);
    await slices.rest();
    expect(slices.due(20_000)).toBe(false);
    await clock.advance(1);
    expect(slices.due(20_000)).toBe(false);
    await clock.advance(1);
    expect(slices.due(20_000)).toBe(true);
  });

  it("begin again when the work waited while the loop turned", async () => {
    const clock = new FakeClock();
    const slices = new Slices(clock);
    for (let i = 0; i < 100; i++) {
      expect(slices.due(20_000)).toBe(false);
      slices.pause();
      await new Promise((resolve) => setImmediate(resolve));
      await clock.advance(5);
      slices.resume();
    }
  });

  it("go on when the loop did not turn meanwhile, and count no time but that of the work", () => {
    let ms = 0;
    const slices = new Slices({ now: () => ms, monotonic: () => ms, timer: () => () => {} });
    expect(slices.due(20_000)).toBe(false);
    ms += 1;
    slices.pause();
    ms += 5;
    slices.resume();
    expect(slices.due(20_000)).toBe(false);
    ms += 1;
    expect(slices.due(20_000)).toBe(true);
  });

  it("end after half a megabyte under a frozen clock", async () => {
    const slices = new Slices(new FakeClock());
    let taken = 0;
    while (!slices.due(64 << 10)) taken++;
    expect(taken).toBe(7);
    let others = false;
    setImmediate(() => {
      others = true;
    });
    await slices.rest();
    expect(others).toBe(true);
    expect(slices.due(64 << 10)).toBe(false);
  });
});
