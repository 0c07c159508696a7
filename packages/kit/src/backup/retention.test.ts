import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expiredBackups, type RetainedBackup } from "./retention.ts";

const backup = fc.record({
  state: fc.constantFrom("running", "good", "good", "failed" as const),
  takenMs: fc.integer({ min: 0, max: 1_000 }),
});
const backups = fc
  .array(backup, { maxLength: 20 })
  .map((all) => all.map((each, index): RetainedBackup => ({ ...each, key: `b${index}` }) as RetainedBackup));
const policy = fc
  .record({
    count: fc.integer({ min: 1, max: 5 }),
    maxAgeMs: fc.option(fc.integer({ min: 0, max: 500 }), { nil: undefined }),
  })
  .map(({ count, maxAgeMs }) => ({ count, ...(maxAgeMs === undefined ? {} : { maxAgeMs }) }));

describe("retention", () => {
  it("keeps the newest verified backup whatever the policy says", () => {
    fc.assert(
      fc.property(backups, policy, (all, keep) => {
        const gone = new Set(expiredBackups(all, keep, 1_000));
        const good = all.filter(({ state }) => state === "good");
        const left = good.filter(({ key }) => !gone.has(key));
        const newestMs = Math.max(...good.map(({ takenMs }) => takenMs));
        expect(good.length === 0 || left.some(({ takenMs }) => takenMs === newestMs)).toBe(true);
      }),
    );
  });

  it("keeps no more than the count, none but the newest beyond the age, and never removes a newer one first", () => {
    fc.assert(
      fc.property(backups, policy, (all, keep) => {
        const gone = new Set(expiredBackups(all, keep, 1_000));
        const good = all.filter(({ state }) => state === "good");
        const left = good.filter(({ key }) => !gone.has(key));
        expect(left.length).toBeLessThanOrEqual(keep.count);
        const oldestLeft = Math.min(...left.map(({ takenMs }) => takenMs));
        for (const each of good) if (gone.has(each.key)) expect(each.takenMs).toBeLessThanOrEqual(oldestLeft);
        const tooOld = left.filter(
          ({ takenMs }) => keep.maxAgeMs !== undefined && 1_000 - takenMs > keep.maxAgeMs,
        );
        expect(tooOld.length).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("never removes a running backup, and needs no second pass", () => {
    fc.assert(
      fc.property(backups, policy, (all, keep) => {
        const gone = new Set(expiredBackups(all, keep, 1_000));
        expect(all.some(({ key, state }) => state === "running" && gone.has(key))).toBe(false);
        expect(
          expiredBackups(
            all.filter(({ key }) => !gone.has(key)),
            keep,
            1_000,
          ),
        ).toEqual([]);
      }),
    );
  });

  it("keeps the newest of each one's data, which others may not push out", () => {
    const of = (owner: string, takenMs: number): RetainedBackup => ({
      ...{ key: `${owner}${takenMs}`, state: "good", takenMs, of: owner },
    });
    const all = [of("a", 1), of("a", 2), of("b", 3), of("c", 4), of("c", 5), of("c", 6)];
    expect(expiredBackups(all, { count: 2 }, 9)).toEqual(["a1", "c4"]);
    expect(expiredBackups(all, { count: 9, maxAgeMs: 1 }, 9)).toEqual(["a1", "c4", "c5"]);
  });

  it("counts by time and not by name", () => {
    const all: RetainedBackup[] = [
      { key: "v9999", state: "good", takenMs: 1 },
      { key: "v10000", state: "good", takenMs: 2 },
    ];
    expect(expiredBackups(all, { count: 1 }, 3)).toEqual(["v9999"]);
  });

  it("keeps failures that nothing good has followed, the newest three of them", () => {
    const failed = (key: string, takenMs: number): RetainedBackup => ({ key, state: "failed", takenMs });
    const all = [1, 3, 4, 5, 6].map((at) => failed(`f${at}`, at));
    expect(expiredBackups([...all, { key: "g", state: "good", takenMs: 2 }], { count: 7 }, 9)).toEqual([
      "f1",
      "f3",
    ]);
  });
});
