/** Instances of a real PostgreSQL that share a store, one server at a time. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openStore, type StoreLocation } from "@keelson/kit/store";
import { Backups } from "../../src/agent/backups.ts";
import type { Log } from "../../src/agent/ports.ts";
import { Postgres } from "../../src/agent/postgres.ts";
import { restorable } from "../../src/agent/restorable.ts";
import { monotonicMs, Watchdog } from "../../src/agent/watchdog.ts";

export interface Instance {
  readonly engine: Postgres;
  readonly directory: string;
}

export interface SettingOptions {
  readonly programs: string;
  readonly base: string;
  readonly location: StoreLocation;
}

const log: Log = { info: () => {}, warn: () => {} };

export class Setting {
  readonly major: string;
  readonly #options: SettingOptions;

  constructor(options: SettingOptions) {
    this.#options = options;
    this.major = /\/(\d+)\/bin$/.exec(options.programs)?.[1] ?? "";
  }

  async instance(
    name: string,
    {
      restored,
      programs = this.#options.programs,
      archives = true,
    }: {
      readonly restored?: { readonly targetTime?: string };
      readonly programs?: string;
      readonly archives?: boolean;
    } = {},
  ): Promise<Instance> {
    const { base, location } = this.#options;
    const directory = join(base, name);
    await mkdir(directory, { recursive: true });
    const store = await restorable(location, { keep: join(directory, "keelson"), place: "store.json" });
    const watchdog = new Watchdog(log);
    watchdog.extend(monotonicMs() + 3_600_000);
    const engine = new Postgres({
      ...{ name, directory, programs, major: this.major, watchdog, log },
      socketDirectory: join(directory, "run"),
      hostOf: () => "127.0.0.1",
      password: async () => "secret",
      ...(archives && { archiveCommand: store.commands.push }),
      ownBackup: store.backup,
      restoreCommand: store.commands.fetch,
      ...(restored && { restore: { ...store.backup("first"), ...restored } }),
    });
    return { engine, directory };
  }

  /** Takes the backup `first`, and says what came of it. */
  async taken({ engine, directory }: Instance): Promise<string> {
    const { programs, location } = this.#options;
    const backups = new Backups({
      ...{ instance: "orders-0", programs, tools: engine.tools, log, scratch: directory },
      store: async () => await openStore(location),
      socketDirectory: join(directory, "run"),
      describe: async () => ({
        systemId: (await engine.inspect()).data?.systemId ?? "",
        ...{ timeline: 1, version: this.major, dataBytes: 0 },
      }),
    });
    await backups.start({ name: "first", uid: "1" });
    for (;;) {
      const { phase, message } = backups.job("first") ?? { phase: "Failed", message: "it is unknown" };
      if (phase === "Done" || phase === "Failed") return `${phase}: ${message}`;
      await sleep(100);
    }
  }
}

export async function rows({ engine }: Instance): Promise<number> {
  const [row] = await engine.query("SELECT count(*) AS n FROM items");
  return Number(row?.["n"]);
}

/** Ends the segment of the log that is being written, and waits until it is in the store. */
export async function archived({ engine }: Instance): Promise<void> {
  const [ended] = await engine.query("SELECT pg_walfile_name(pg_switch_wal()) AS file");
  for (;;) {
    const [row] = await engine.query("SELECT last_archived_wal AS file FROM pg_stat_archiver");
    if (String(row?.["file"] ?? "") >= String(ended?.["file"])) return;
    await sleep(100);
  }
}
