import { describe, expect, it } from "vitest";
import { type Authority, advance, bundleOf, issuerOf, newAuthority, trustOf } from "./authority.ts";

const dayMs = 86_400_000;
const nowMs = Date.parse("2026-01-01T00:00:00Z");
const facts = { nowMs, trusted: true, served: true, overlapMs: 0 };
const made = (): Authority => ({ current: newAuthority("a", facts), sinceMs: nowMs });

describe("an authority", () => {
  it("stays as it is while nobody asks for another and it has a year left", () => {
    const authority = made();
    expect(advance("a", authority, facts)).toBe(authority);
    expect(advance("a", authority, { ...facts, nowMs: nowMs + 3_000 * dayMs })).toBe(authority);
  });

  it("is replaced in three passes, and trust changes only in the first and the last", () => {
    const first = made();
    const widened = advance("a", first, { ...facts, wish: "1" });
    expect(widened.next).toBeDefined();
    expect(issuerOf(widened)).toBe(first.current);
    const switched = advance("a", widened, { ...facts, wish: "1" });
    expect(switched.current).toBe(widened.next);
    expect(trustOf(bundleOf(switched))).toBe(trustOf(bundleOf(widened)));
    const dropped = advance("a", switched, { ...facts, wish: "1" });
    expect(bundleOf(dropped)).toBe(widened.next?.certificate);
    expect(advance("a", dropped, { ...facts, wish: "1" })).toBe(dropped);
  });

  it("waits for those who do not trust it yet, and for those who still show the old one's certificates", () => {
    const widened = advance("a", made(), { ...facts, wish: "1" });
    expect(advance("a", widened, { ...facts, trusted: false })).toBe(widened);
    const switched = advance("a", widened, facts);
    expect(advance("a", switched, { ...facts, served: false })).toBe(switched);
  });

  it("gives clients their time before each change", () => {
    const overlapMs = dayMs;
    const widened = advance("a", made(), { ...facts, overlapMs, wish: "1" });
    expect(advance("a", widened, { ...facts, overlapMs })).toBe(widened);
    const switched = advance("a", widened, { ...facts, overlapMs, nowMs: nowMs + dayMs });
    expect(switched.previous).toBeDefined();
    expect(advance("a", switched, { ...facts, overlapMs, nowMs: nowMs + dayMs })).toBe(switched);
  });

  it("is replaced when it grows old, and when the given issuer is another", () => {
    const late = { ...facts, nowMs: nowMs + 3_300 * dayMs };
    expect(advance("a", made(), late).next).toBeDefined();
    const given = newAuthority("given", facts);
    expect(advance("a", made(), { ...facts, given }).next).toBe(given);
    const adopted: Authority = { current: given, sinceMs: nowMs };
    expect(advance("a", adopted, { ...facts, given })).toBe(adopted);
  });
});
