import { describe, expect, test } from "vitest";
import { firstAddress, RangePool } from "./address-pool.ts";

describe("pod addresses", () => {
  test("the first belongs to the node, the next to its pods, and a freed one rests", () => {
    const pool = new RangePool("10.244.3.0/29");
    expect(firstAddress("10.244.3.0/29")).toBe("10.244.3.1");
    expect([pool.allocate(), pool.allocate()]).toEqual(["10.244.3.2", "10.244.3.3"]);
    pool.release("10.244.3.2");
    expect(pool.allocate()).toBe("10.244.3.4");
  });

  test("none is given twice, and the end is said in words", () => {
    const pool = new RangePool("10.0.0.0/29");
    expect(new Set(Array.from({ length: 5 }, () => pool.allocate())).size).toBe(5);
    expect(() => pool.allocate()).toThrow("no free address is left in 10.0.0.0/29");
  });

  test("a pod that comes back keeps its address where it can", () => {
    const pool = new RangePool("10.244.0.0/24");
    expect(pool.allocate("10.244.0.77")).toBe("10.244.0.77");
    expect(pool.allocate("10.244.0.77")).toBe("10.244.0.2");
    expect(pool.allocate("10.244.9.9")).toBe("10.244.0.3");
  });

  test("ranges cross byte borders", () => {
    const pool = new RangePool("10.1.0.0/16");
    for (let i = 0; i < 300; i++) pool.allocate();
    expect(pool.allocate()).toBe("10.1.1.46");
  });

  test("what is no range is refused", () =>
    expect(() => new RangePool("10.0.0.0/31")).toThrow("no IPv4 range"));
});
