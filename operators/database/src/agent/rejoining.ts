/** Makes an instance's data the same as that of a primary: by a rewind where it went another way, otherwise by a clone. */
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readControl } from "./control-file.ts";
import type { LineageFile } from "./lineage.ts";
import type { Log, Upstream } from "./ports.ts";
import type { ServerFiles } from "./server-files.ts";
import { type Tools, writeDurably } from "./tools.ts";

export interface RejoiningOptions {
  readonly name: string;
  /** The volume. */
  readonly directory: string;
  readonly tools: Tools;
  readonly files: ServerFiles;
  readonly lineage: LineageFile;
  readonly log: Log;
}

/** How long data that was replaced is kept. */
const keepAsideMs = 24 * 3_600_000;

/** For a server that does not run. */
export class Rejoining {
  readonly #options: RejoiningOptions;

  constructor(options: RejoiningOptions) {
    this.#options = options;
  }

  get #dataDirectory(): string {
    return join(this.#options.directory, "pgdata");
  }

  /** The old timeline is left, and the data made the same as theirs. */
  async rewind(from: Upstream): Promise<void> {
    const before = await readControl(this.#options.tools, this.#dataDirectory);
    await this.#saveEvidence(from);
    // The old timeline is left: what it was is of no use any more, whether this succeeds or is broken off.
    await this.#options.lineage.write({
      timeline: before.timeline,
      epoch: -1,
      next: { timeline: from.timeline, epoch: from.timelineEpoch },
    });
    await rm(join(this.#dataDirectory, "standby.signal"), { force: true });
    await rm(join(this.#dataDirectory, "postmaster.pid"), { force: true });
    const args = [
      "-D",
      this.#dataDirectory,
      `--source-server=${await this.#options.files.conninfo(from.name, "postgres")}`,
      "--no-sync",
    ];
    await this.#options.tools.run("pg_rewind", args, await this.#options.files.secret());
    await writeFile(join(this.#dataDirectory, "standby.signal"), "");
    await this.#options.lineage.write({
      timeline: before.timeline,
      epoch: -1,
      next: { timeline: from.timeline, epoch: from.timelineEpoch },
    });
    await this.#options.tools.run("initdb", ["-D", this.#dataDirectory, "--sync-only"]);
  }

  /** What is about to be undone, to show later what it was. */
  async #saveEvidence(from: Upstream): Promise<void> {
    const control = await readControl(this.#options.tools, this.#dataDirectory);
    await this.#keepEvidence({
      at: new Date().toISOString(),
      to: from,
      timeline: control.timeline,
      state: control.state,
      checkpoint: String(control.checkpoint),
    });
  }

  /** Copies all data. What was here is set aside. */
  async clone(from: Upstream, reason: string): Promise<void> {
    const { directory, log } = this.#options;
    await mkdir(join(directory, "keelson"), { recursive: true });
    const fresh = join(directory, "pgdata.new");
    await rm(fresh, { recursive: true, force: true });
    await this.#options.tools.run(
      "pg_basebackup",
      [
        ...[
          "-D",
          fresh,
          "-d",
          await this.#options.files.conninfo(from.name, "replication", `${this.#options.name}-clone`),
          "--checkpoint=fast",
        ],
        ...["--wal-method=stream", "--no-sync"],
      ],
      await this.#options.files.secret(),
    );
    await this.#options.files.configure(fresh);
    await this.#options.tools.run("initdb", ["-D", fresh, "--sync-only"]);
    await writeFile(join(fresh, "standby.signal"), "");
    // Nothing is deleted: what was here before is set aside, and only the newest of those is kept.
    if (existsSync(this.#dataDirectory)) await this.setAside(reason);
    await this.#options.lineage.write({
      timeline: 0,
      epoch: -1,
      next: { timeline: from.timeline, epoch: from.timelineEpoch },
    });
    await rename(fresh, this.#dataDirectory);
    log.info("cloned", { from: from.name, reason });
  }

  /** Removes what was set aside, and the data of before an upgrade, when it is a day old. */
  async tidy(nowMs: number): Promise<void> {
    const { directory, log } = this.#options;
    for (const name of await readdir(directory)) {
      if (!/^(aside-|before-upgrade$)/.test(name)) continue;
      const { ctimeMs } = await stat(join(directory, name));
      if (nowMs - ctimeMs < keepAsideMs) continue;
      log.info("removes what was kept", { name });
      await rm(join(directory, name), { recursive: true, force: true });
    }
  }

  async setAside(reason: string): Promise<void> {
    const { directory } = this.#options;
    const older = (await readdir(directory)).filter((name) => name.startsWith("aside-"));
    const stamp = new Date().toISOString().replaceAll(":", "").slice(0, 17);
    const place = join(directory, `aside-${stamp}`);
    await rename(this.#dataDirectory, place);
    await writeFile(join(place, "keelson-reason"), `${reason}\n`);
    for (const name of older) await rm(join(directory, name), { recursive: true, force: true });
  }

  async #keepEvidence(value: unknown): Promise<void> {
    await writeDurably(join(this.#options.directory, "keelson", "rewound.json"), JSON.stringify(value));
  }
}
