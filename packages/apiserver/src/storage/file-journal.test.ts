import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backgroundClock } from "@keelson/core/internal";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ApiObject } from "../contracts/object.ts";
import { openFileJournal } from "./file-journal.ts";
import { Store } from "./store.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "journal-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function open(maxLogBytes?: number): Promise<Store> {
  const journal = await openFileJournal({ directory, ...(maxLogBytes && { maxLogBytes }) });
  return new Store({ clock: backgroundClock, journal });
}

const object = (name: string, value: string): ApiObject => ({ metadata: { name }, value });
const names = (store: Store) =>
  store
    .table("things")
    .range("")
    .map(({ metadata }) => metadata.name);
const logFile = () =>
  join(
    directory,
    readdirSync(directory)
      .filter((file) => file.startsWith("log-"))
      .sort()
      .at(-1) as string,
  );

async function filled(count: number): Promise<void> {
  const store = await open();
  const table = store.table("things");
  for (let i = 0; i < count; i++) {
    store.create(table, `n${i}`, object(`n${i}`, "x"));
    await store.settled();
  }
  await store.close();
}

describe("a durable journal", () => {
  it("gives back what was committed, with revisions that go on", async () => {
    const first = await open();
    const table = first.table("things");
    const a = first.create(table, "a", object("a", "1"));
    first.create(table, "b", object("b", "1"));
    first.update(table, "a", object("a", "2"), a);
    first.delete(table, "b", table.get("b") as ApiObject);
    const { revision } = first;
    await first.close();

    const second = await open();
    expect(names(second)).toEqual(["a"]);
    expect(second.table("things").get("a")).toMatchObject({ value: "2" });
    expect(second.revision).toBe(revision);
    const c = second.create(second.table("things"), "c", object("c", "1"));
    expect(Number(c.metadata.resourceVersion)).toBe(revision + 1);
    await second.close();
  });

  it("publishes nothing before it is on disk", async () => {
    const store = await open();
    const table = store.table("things");
    const seen: string[] = [];
    table.subscribe(({ key }) => seen.push(key));
    store.create(table, "a", object("a", "1"));
    expect(seen).toEqual([]);
    expect(store.published).toBeLessThan(store.revision);
    await store.settled();
    expect(seen).toEqual(["a"]);
    expect(store.published).toBe(store.revision);
    expect(readFileSync(logFile(), "utf8")).toContain('"k":"a"');
    await store.close();
  });

  it("cuts a torn tail at every byte of the last record, and loses nothing before it", async () => {
    await filled(3);
    const whole = readFileSync(logFile());
    const before = whole.lastIndexOf('{"r"') - 8;
    for (let cut = before; cut < whole.length; cut += 7) {
      writeFileSync(logFile(), whole);
      truncateSync(logFile(), cut);
      const store = await open();
      expect(names(store)).toEqual(["n0", "n1"]);
      store.create(store.table("things"), "after", object("after", "1"));
      await store.close();
      const again = await open();
      expect(names(again)).toEqual(["after", "n0", "n1"]);
      await again.close();
    }
  });

  it("does not take a damaged tail for a record", async () => {
    await filled(2);
    const bytes = readFileSync(logFile());
    bytes[bytes.length - 3] = (bytes[bytes.length - 3] as number) ^ 0xff;
    writeFileSync(logFile(), bytes);
    const store = await open();
    expect(names(store)).toEqual(["n0"]);
    await store.close();
  });

  it("reads past zeroes that were reserved and never used", async () => {
    await filled(2);
    appendFileSync(logFile(), Buffer.alloc(1000));
    const store = await open();
    expect(names(store)).toEqual(["n0", "n1"]);
    await store.close();
  });

  it("refuses a file that is damaged in the middle rather than losing what follows", async () => {
    await filled(5);
    const bytes = readFileSync(logFile());
    bytes[20] = (bytes[20] as number) ^ 0xff;
    writeFileSync(logFile(), bytes);
    await expect(open()).rejects.toMatchObject({ code: "Corrupt" });
    await expect(open()).rejects.toThrow(/damaged at byte/);
  });

  it("replaces a long log by the state it amounts to", async () => {
    const store = await open(20_000);
    const table = store.table("things");
    let last = store.create(table, "a", object("a", "0"));
    for (let i = 1; i <= 400; i++) {
      last = store.update(table, "a", object("a", String(i)), last);
      if (i % 20 === 0) await store.settled();
    }
    await store.close();
    const files = readdirSync(directory);
    expect(files.some((file) => file.startsWith("state-"))).toBe(true);
    expect(existsSync(join(directory, "log-1"))).toBe(false);
    expect(
      files
        .filter((file) => file.startsWith("log-"))
        .every((file) => statSync(join(directory, file)).size < 60_000),
    ).toBe(true);
    const again = await open();
    expect(again.table("things").get("a")).toMatchObject({ value: "400" });
    expect(again.revision).toBe(Number(last.metadata.resourceVersion));
    await again.close();
  });

  it("lets no second process or server into the directory, and frees it when closed", async () => {
    const store = await open();
    await expect(open()).rejects.toMatchObject({ code: "Locked" });
    await store.close();
    await (await open()).close();
  });

  it("tells watchers of earlier revisions that history is gone after a restart", async () => {
    await filled(3);
    const store = await open();
    expect(store.table("things").eventsAfter(2)).toBeUndefined();
    expect(store.table("never seen").eventsAfter(2)).toBeUndefined();
    expect(store.table("things").eventsAfter(store.revision)).toEqual([]);
    await store.close();
  });
});
