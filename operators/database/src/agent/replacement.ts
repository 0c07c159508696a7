/** Puts other data in the place of an instance's, and keeps what was there, so that the way back is a rename. */
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";

/** What was there before, in the volume. */
const kept = "before-restore";

/**
 * Each step is a rename, and an agent that is stopped in between goes on from where it was: `pgdata` to `swapped`, the other
 * data to `pgdata`, `swapped` to `before-restore`.
 */
export class Replacement {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  #at(name: string): string {
    return join(this.#directory, name);
  }

  /** It was stopped between the first rename and the last. */
  get isHalfDone(): boolean {
    return existsSync(this.#at("swapped"));
  }

  /** Puts `source` in place. What was kept by an earlier one goes. `done` is called when the data is in place. */
  async replace(source: string, done: () => Promise<void> = async () => {}): Promise<void> {
    if (existsSync(this.#at(source))) {
      if (existsSync(this.#at("pgdata"))) {
        await rm(this.#at("swapped"), { recursive: true, force: true });
        await rename(this.#at("pgdata"), this.#at("swapped"));
      }
      await rename(this.#at(source), this.#at("pgdata"));
    }
    await done();
    await this.finish();
  }

  /** Keeps what was there, if that was not done yet. */
  async finish(): Promise<void> {
    if (!this.isHalfDone) return;
    await rm(this.#at(kept), { recursive: true, force: true });
    await rename(this.#at("swapped"), this.#at(kept));
  }

  /** Puts back what was there before, and keeps what is there now. `prepare` is called with where that lies. */
  async undo({
    prepare = async () => {},
    done,
  }: {
    readonly prepare?: (directory: string) => Promise<void>;
    readonly done?: () => Promise<void>;
  } = {}): Promise<void> {
    if (!this.isHalfDone) {
      if (existsSync(this.#at(kept))) await rename(this.#at(kept), this.#at("undone"));
      if (!existsSync(this.#at("undone"))) throw new Error("nothing is kept from before a restore");
      await prepare(this.#at("undone"));
    }
    await this.replace("undone", done);
  }

  /** Ends what somebody was about who does not come back: the data is one of the two, and the other is kept. */
  async settle(): Promise<void> {
    for (const source of ["restored", "undone"]) {
      if (!existsSync(this.#at("pgdata")) && existsSync(this.#at(source)))
        await rename(this.#at(source), this.#at("pgdata"));
    }
    await this.finish();
    if (existsSync(this.#at("undone")) && !existsSync(this.#at(kept)))
      await rename(this.#at("undone"), this.#at(kept));
    for (const source of ["restored", "undone"]) await rm(this.#at(source), { recursive: true, force: true });
  }
}
