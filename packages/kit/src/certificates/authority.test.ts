import { describe, expect, it } from "vitest";
import {
  type Authority,
  advanceAuthority,
  issuerOf,
  newAuthority,
  trustBundle,
  trustDigest,
} from "./authority.ts";

const dayMs = 86_400_000;
const nowMs = Date.parse("2026-01-01T00:00:00Z");
const facts = { nowMs, trusted: true, served: true, overlapMs: 0 };
const made = (): Authority => ({ current: newAuthority("a", facts), sinceMs: nowMs });

describe("an authority", () => {
  it("stays as it is while no other is requested and it has a year left", () => {
    const authority = made();
    expect(advanceAuthority("a", authority, facts)).toBe(authority);
    expect(advanceAuthority("a", authority, { ...facts, nowMs: nowMs + 3_000 * dayMs })).toBe(authority);
  });

  it("is replaced in three passes, and trust changes only in the first and the last", () => {
    const first = made();
    const widened = advanceAuthority("a", first, { ...facts, rotation: "1" });
    expect(widened.next).toBeDefined();
    expect(issuerOf(widened)).toBe(first.current);
    const switched = advanceAuthority("a", widened, { ...facts, rotation: "1" });
    expect(switched.current).toBe(widened.next);
    expect(trustDigest(trustBundle(switched))).toBe(trustDigest(trustBundle(widened)));
    const dropped = advanceAuthority("a", switched, { ...facts, rotation: "1" });
    expect(trustBundle(dropped)).toBe(widened.next?.certificate);
    expect(advanceAuthority("a", dropped, { ...facts, rotation: "1" })).toBe(dropped);
  });

  it("waits for servers that do not trust it yet, and for servers that still present an old certificate", () => {
    const widened = advanceAuthority("a", made(), { ...facts, rotation: "1" });
    expect(advanceAuthority("a", widened, { ...facts, trusted: false })).toBe(widened);
    const switched = advanceAuthority("a", widened, facts);
    expect(advanceAuthority("a", switched, { ...facts, served: false })).toBe(switched);
  });

  it("gives clients the overlap before each change", () => {
    const overlapMs = dayMs;
    const widened = advanceAuthority("a", made(), { ...facts, overlapMs, rotation: "1" });
    expect(advanceAuthority("a", widened, { ...facts, overlapMs })).toBe(widened);
    const switched = advanceAuthority("a", widened, { ...facts, overlapMs, nowMs: nowMs + dayMs });
    expect(switched.previous).toBeDefined();
    expect(advanceAuthority("a", switched, { ...facts, overlapMs, nowMs: nowMs + dayMs })).toBe(switched);
  });

  it("begins the overlap again when the clock is set back", () => {
    const early = { ...facts, overlapMs: dayMs, nowMs: nowMs - 1 };
    const widened = advanceAuthority("a", made(), { ...facts, rotation: "1" });
    const again = advanceAuthority("a", widened, early);
    expect(again).toEqual({ ...widened, sinceMs: nowMs - 1 });
    expect(advanceAuthority("a", again, early)).toBe(again);
    const unchanged = made();
    expect(advanceAuthority("a", unchanged, early)).toBe(unchanged);
  });

  it("is replaced when it grows old, and when the user provides another", () => {
    const late = { ...facts, nowMs: nowMs + 3_300 * dayMs };
    expect(advanceAuthority("a", made(), late).next).toBeDefined();
    const given = newAuthority("given", facts);
    expect(advanceAuthority("a", made(), { ...facts, given }).next).toBe(given);
    const adopted: Authority = { current: given, sinceMs: nowMs };
    expect(advanceAuthority("a", adopted, { ...facts, given })).toBe(adopted);
  });
});
