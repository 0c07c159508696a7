/** The clients against a register in memory that fails in the ways that databases do. */
import { VirtualClock } from "@keelson/testing/clock";
import { describe, expect, it } from "vitest";
import { Load, type LoadOptions } from "./load.ts";

/** A database of two servers that share their data. */
function database() {
  const keys = new Map<string, number>();
  const down = new Set<string>();
  let revision = 0n;
  const answer = (server: string) => {
    if (down.has(server)) throw new Error(`${server} is down`);
  };
  return {
    keys,
    down,
    get revision() {
      return revision;
    },
    loseAnswers: false,
    async write(server: string, key: string, value: number) {
      answer(server);
      if ((keys.get(key) ?? 0) < value) {
        keys.set(key, value);
        revision++;
      }
      if (this.loseAnswers) throw new Error("the connection broke");
      return { revision };
    },
    async read(server: string, key: string) {
      answer(server);
      return { value: keys.get(key) ?? 0, revision };
    },
  };
}

function start(options: Partial<LoadOptions<string>> = {}) {
  const clock = new VirtualClock();
  const db = database();
  const load = new Load<string>({
    targets: () => ["a", "b"],
    write: (server, key, value) => db.write(server, key, value),
    read: (server, key) => db.read(server, key),
    prefix: "load",
    // One at a time: the memory has a single revision for everything that is answered.
    writers: 1,
    clock,
    ...options,
  });
  return { clock, db, load };
}

describe("a load", () => {
  it("writes at its rate, and finds everything at the end", async () => {
    const { clock, load } = start();
    await clock.advance(10_000);
    const { acknowledged, failed } = load.ledger.summary(0);
    expect(acknowledged).toBeGreaterThanOrEqual(990);
    expect(failed).toBe(0);
    const report = await clock.run(load.finish());
    expect(report.violations).toEqual([]);
    expect(report.acknowledged).toBeGreaterThanOrEqual(acknowledged);
  });

  it("moves on to the next server when one does not answer", async () => {
    const { clock, db, load } = start();
    db.down.add("a");
    await clock.advance(1_000);
    expect(load.ledger.summary(0).failed).toBe(0);
    expect((await clock.run(load.finish())).violations).toEqual([]);
  });

  it("measures an outage, and says why writes failed", async () => {
    const { clock, db, load } = start({ giveUpMs: 1_000 });
    await clock.advance(1_000);
    const sinceMs = load.ledger.now;
    db.down.add("a").add("b");
    await clock.advance(5_000);
    db.down.clear();
    await clock.run(load.ledger.acknowledgedSince(load.ledger.now));
    const summary = load.ledger.summary(sinceMs);
    expect(summary.longestGapMs).toBeGreaterThanOrEqual(5_000);
    expect(summary.failed).toBeGreaterThan(0);
    expect(new Set(summary.errors)).toEqual(
      new Set(summary.errors.filter((each) => each.endsWith("is down"))),
    );
    expect((await clock.run(load.finish())).violations).toEqual([]);
  });

  it("accepts that a write without an answer took effect", async () => {
    const { clock, db, load } = start({ giveUpMs: 0 });
    db.loseAnswers = true;
    await clock.advance(1_000);
    await clock.run(load.stop());
    db.loseAnswers = false;
    const report = await clock.run(load.finish());
    expect(report).toMatchObject({ acknowledged: 0, violations: [] });
    expect(db.keys.get("load/0")).toBeGreaterThan(0);
  });

  it("finds a key that lost its last acknowledged write", async () => {
    const { clock, db, load } = start();
    await clock.advance(1_000);
    await clock.run(load.stop());
    const last = db.keys.get("load/0") ?? 0;
    db.keys.set("load/0", last - 2);
    expect(await clock.run(load.finish({ order: false }))).toMatchObject({ lost: 2 });
  });

  it("finds every single lost write when each has a key of its own", async () => {
    const { clock, db, load } = start({ keys: "appends" });
    await clock.advance(1_000);
    for (const lost of [3, 4, 7]) db.keys.delete(load.key(0, lost));
    await clock.advance(1_000);
    const report = await clock.run(load.finish({ order: false }));
    expect(report.lost).toBe(3);
    expect(report.violations[0]).toBe("load/0/3 was acknowledged up to 3, attempted up to 3, and is 0");
  });

  it("forgives what a recovery from an older revision had to lose, and nothing else", async () => {
    const { clock, db, load } = start({ readers: 0 });
    await clock.advance(1_000);
    const [saved, revision] = [new Map(db.keys), db.revision];
    await clock.advance(1_000);
    expect(load.ledger.acknowledgedAbove(revision).count).toBeGreaterThan(0);
    db.down.add("a").add("b");
    await clock.advance(1_000);
    db.keys.clear();
    for (const [key, value] of saved) db.keys.set(key, value);
    load.ledger.recoveredFrom(revision);
    db.down.clear();
    await clock.advance(1_000);
    expect((await clock.run(load.finish())).violations).toEqual([]);
  });
});
