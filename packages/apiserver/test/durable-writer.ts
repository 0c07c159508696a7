/**
 * A process that writes to a durable store as fast as it can and says on its standard output what was acknowledged:
 * `name=value` for a write, `name` for a deletion. It is killed, and its directory must hold what it said.
 */
import { writeSync } from "node:fs";
import { backgroundClock } from "@keelson/core/internal";
import { openFileJournal } from "../src/storage/file-journal.ts";
import { Store } from "../src/storage/store.ts";

const [directory = "", round = "0"] = process.argv.slice(2);
// A short log, so that it is replaced all the time.
const journal = await openFileJournal({ directory, maxLogBytes: 100_000 });
const store = new Store({ clock: backgroundClock, journal });
const table = store.table("things");
const padding = "x".repeat(2_000);

async function write(writer: number): Promise<never> {
  for (let count = 0; ; count++) {
    const key = `w${writer}-${count % 7}`;
    const base = table.get(key);
    const value = `${round}.${count}`;
    if (base && count % 5 === 4) {
      store.delete(table, key, base);
      await store.settled();
      writeSync(1, `${key}\n`);
      continue;
    }
    const draft = { metadata: { name: key }, value, padding };
    if (base) store.update(table, key, draft, base);
    else store.create(table, key, draft);
    await store.settled();
    writeSync(1, `${key}=${value}\n`);
  }
}

writeSync(1, "ready\n");
await Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)));
