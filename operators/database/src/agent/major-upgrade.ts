/** Takes a data directory to another major version by pg_upgrade, beside the old one, which stays until the new one is whole. */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type BuiltIn, builtInVersions, findMismatches, rebuild, recordVersions } from "./collations.ts";
import type { Log } from "./ports.ts";
import { PrivateServer } from "./private-server.ts";
import { Tools, writeDurably } from "./tools.ts";

export interface MajorUpgradeOptions {
  /** The volume: `pgdata` lies in it. */
  readonly directory: string;
  /** Where the new programs are, and the old ones. */
  readonly programs: string;
  readonly oldPrograms: string;
  readonly scratch: string;
  readonly initdbOptions: readonly string[];
  /** Writes PostgreSQL's configuration into a data directory. */
  readonly configure: (directory: string) => Promise<void>;
  readonly log: Log;
  /** What indexes of the old data are sorted by. Default: its own server is asked. */
  readonly versions?: () => Promise<readonly BuiltIn[]>;
}

/** What pg_upgrade must not do to the archive, and what PostgreSQL 17 insists on meanwhile. */
const quiet = "-c archive_mode=off -c synchronous_standby_names= -c ssl=off";

export async function majorOf(directory: string): Promise<string | undefined> {
  const text = await readFile(join(directory, "PG_VERSION"), "utf8").catch(() => undefined);
  return text?.trim();
}

export class MajorUpgrade {
  readonly #options: MajorUpgradeOptions;
  readonly #new: Tools;
  readonly #old: Tools;
  /** The new server was started on files that the old data has too, or may have been: the old data is of no use any more. */
  isSpoiled = false;

  constructor(options: MajorUpgradeOptions) {
    this.#options = options;
    this.#new = new Tools(options.programs);
    this.#old = new Tools(options.oldPrograms);
  }

  get #data(): string {
    return join(this.#options.directory, "pgdata");
  }

  get #fresh(): string {
    return join(this.#options.directory, "pgdata.new");
  }

  /** Lies in the old data while another server may write to its files, so that a stopped attempt is known as such. */
  get #mark(): string {
    return join(this.#data, "keelson-linked");
  }

  get #control(): string {
    return join(this.#data, "global", "pg_control");
  }

  /** Where the data of before stays. */
  get #kept(): string {
    return join(this.#options.directory, "before-upgrade");
  }

  /** Resolves with what was done, in words. When it throws, the data of before is in its place or spoiled. */
  async run({ link, to }: { readonly link: boolean; readonly to: string }): Promise<string> {
    // Stopped between the two renames of an earlier attempt: the new data was whole.
    if (!existsSync(this.#data) && existsSync(this.#kept) && (await majorOf(this.#fresh)) === to) {
      await rename(this.#fresh, this.#data);
    }
    if ((await majorOf(this.#data)) === to) return "it was done before";
    try {
      const message = await this.#make(link);
      await rm(this.#kept, { recursive: true, force: true });
      await rename(this.#data, this.#kept);
      await rename(this.#fresh, this.#data);
      return message;
    } catch (error) {
      const details = await this.#details();
      await this.#undo();
      throw new Error([(error as Error).message, ...details].join("; "), { cause: error });
    }
  }

  /** The files that pg_upgrade tells people to look at: they are gone with the new data. */
  async #details(): Promise<string[]> {
    const directory = join(this.#fresh, "pg_upgrade_output.d");
    const files = await readdir(directory, { recursive: true }).catch(() => []);
    const texts = await Promise.all(
      files
        .filter((file) => file.endsWith(".txt"))
        .map(async (file) => await readFile(join(directory, file), "utf8")),
    );
    return texts.flatMap((text) => text.trim().split("\n").slice(0, 5)).map((line) => line.trim());
  }

  async #make(link: boolean): Promise<string> {
    const { programs, oldPrograms, scratch, initdbOptions, configure, log } = this.#options;
    if (existsSync(this.#mark)) {
      // pg_upgrade moves the control file away before it links the first file.
      this.isSpoiled = !existsSync(this.#control);
      if (this.isSpoiled)
        throw new Error("an attempt before was stopped while it shared files with the data");
      await rm(this.#mark);
    }
    const { stdout } = await this.#old.run("pg_controldata", ["-D", this.#data]);
    const state = /^Database cluster state:\s+(.*)$/m.exec(stdout)?.[1];
    if (state !== "shut down") throw new Error(`PostgreSQL did not end cleanly: it is "${state}"`);
    await rm(this.#fresh, { recursive: true, force: true });
    await rm(scratch, { recursive: true, force: true });
    await mkdir(scratch, { recursive: true, mode: 0o700 });
    const checksums = !/^Data page checksum version:\s+0$/m.test(stdout);
    await this.#new.run("initdb", [
      ...["-D", this.#fresh, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync"],
      ...(checksums ? ["--data-checksums"] : []),
      ...(initdbOptions.length > 0 ? initdbOptions : ["--locale=C.UTF-8"]),
    ]);
    await configure(this.#fresh);
    await configure(this.#data);
    const versions = await (this.#options.versions ?? (() => this.#oldVersions()))();
    log.info("pg_upgrade", { link });
    const args = [
      ...["--old-datadir", this.#data, "--new-datadir", this.#fresh],
      ...["--old-bindir", oldPrograms, "--new-bindir", programs],
      ...["--username=postgres", "--socketdir", scratch, "--old-options", quiet, "--new-options", quiet],
      ...(link ? ["--link"] : []),
    ];
    if (link) await writeDurably(this.#mark, "");
    await this.#new.run("pg_upgrade", args, {}, { cwd: scratch, words: "stdout" });
    const done = await this.#settle(link, versions);
    await this.#new.run("initdb", ["-D", this.#fresh, "--sync-only"]);
    await rm(scratch, { recursive: true, force: true });
    return done;
  }

  async #oldVersions(): Promise<BuiltIn[]> {
    const { oldPrograms, scratch } = this.#options;
    const where = { directory: this.#data, socketDirectory: scratch };
    await using server = await PrivateServer.start({ programs: oldPrograms, ...where });
    return await builtInVersions(server.query.bind(server));
  }

  /** What pg_upgrade leaves to people: extensions, collations, statistics. */
  async #settle(link: boolean, versions: readonly BuiltIn[]): Promise<string> {
    const { programs, scratch } = this.#options;
    await this.#options.configure(this.#fresh);
    this.isSpoiled = link;
    await using server = await PrivateServer.start({
      programs,
      directory: this.#fresh,
      socketDirectory: scratch,
      settings: ["fsync=off"],
    });
    const ask = server.query.bind(server);
    const databases = await ask(
      "SELECT datname AS name FROM pg_database WHERE datallowconn ORDER BY datname",
    );
    for (const row of databases) {
      const database = row["name"] ?? "";
      const old = await ask(
        "SELECT quote_ident(name) AS name FROM pg_available_extensions" +
          " WHERE installed_version IS NOT NULL AND installed_version <> default_version",
        { database },
      );
      for (const { name } of old) await ask(`ALTER EXTENSION ${name} UPDATE`, { database });
    }
    await recordVersions(ask, versions);
    const mismatches = await findMismatches(ask);
    const rebuilt = await rebuild(ask, mismatches);
    await this.#new.run("vacuumdb", [
      ...["--all", "--analyze-only", "--host", scratch, "--username", "postgres", "--jobs", "2"],
    ]);
    const names = mismatches.flatMap(({ collations }) => collations);
    return names.length === 0
      ? "no collation has changed"
      : `${names.length} collations have changed, and ${rebuilt} indexes were rebuilt`;
  }

  async #undo(): Promise<void> {
    await rm(this.#fresh, { recursive: true, force: true });
    if (this.isSpoiled) return;
    if (existsSync(`${this.#control}.old`)) await rename(`${this.#control}.old`, this.#control);
    await rm(this.#mark, { force: true });
  }
}
