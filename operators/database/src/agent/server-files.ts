/** The files that a PostgreSQL server reads: its settings, who may come in, and whom it follows. */
import { mkdir, readFile, statfs } from "node:fs/promises";
import { join } from "node:path";
import { parseKnownJson } from "../ha/json.ts";
import { hbaConf, keelsonConf, postgresqlConf, replicationUser, withFloors } from "./configuration.ts";
import type { Upstream } from "./ports.ts";
import { writeChanged } from "./tools.ts";

export interface ServerFilesOptions {
  readonly name: string;
  readonly directory: string;
  readonly socketDirectory: string;
  readonly hostOf: (name: string) => string;
  readonly password: () => Promise<string>;
  readonly tls?: { readonly directory: string; readonly require: boolean };
  readonly archiveCommand?: string;
}

export class ServerFiles {
  readonly #options: ServerFilesOptions;
  /** Undefined until the agent was told: those that were good before hold. */
  parameters: Readonly<{ [name: string]: string }> | undefined;
  upstream: Upstream | undefined;
  synchronousNames = "";
  /** Nobody comes in but the instances themselves. */
  isClosed = false;

  constructor(options: ServerFilesOptions) {
    this.#options = options;
  }

  get #dataDirectory(): string {
    return join(this.#options.directory, "pgdata");
  }

  #keep(file: string): string {
    return join(this.#options.directory, "keelson", file);
  }

  async configure(
    directory: string,
    {
      restoreCommand,
      isUpgrade = false,
      floors = {},
    }: {
      readonly restoreCommand?: string;
      readonly isUpgrade?: boolean;
      /** What a standby must allow at least, whatever is asked for. */
      readonly floors?: Readonly<{ [name: string]: string }>;
    } = {},
  ): Promise<void> {
    const { name, socketDirectory, tls, archiveCommand } = this.#options;
    const parameters = withFloors(this.parameters ?? (await this.goodParameters()), floors);
    const { bsize, blocks } = await statfs(this.#options.directory);
    const options = {
      name,
      socketDirectory,
      volumeBytes: bsize * blocks,
      // PostgreSQL 17 takes no other value while it is upgraded to.
      parameters: isUpgrade ? { ...parameters, max_slot_wal_keep_size: "-1" } : parameters,
      ...(tls !== undefined && { tls: tls.directory }),
      ...(archiveCommand !== undefined && { archiveCommand }),
      ...(restoreCommand !== undefined && { restoreCommand }),
    };
    await writeChanged(join(directory, "postgresql.conf"), postgresqlConf(options));
    await writeChanged(
      join(directory, "pg_hba.conf"),
      hbaConf({ tls: tls !== undefined, require: tls?.require ?? false, closed: this.isClosed }),
    );
    await this.writeKeelsonConf(directory);
  }

  async writeKeelsonConf(directory = this.#dataDirectory): Promise<void> {
    const upstream = this.upstream;
    if (upstream) {
      const password = (await this.#options.password()).replace(/[\\:]/g, "\\$&");
      await mkdir(join(this.#options.directory, "keelson"), { recursive: true });
      await writeChanged(this.#keep("pgpass"), `*:*:*:${replicationUser}:${password}\n`);
    }
    const primaryConninfo = upstream ? await this.conninfo(upstream.name, "replication") : "";
    await writeChanged(
      join(directory, "keelson.conf"),
      keelsonConf({ primaryConninfo, synchronousNames: this.synchronousNames }),
    );
  }

  /** A clone streams under another name: what it receives must not count as received by a standby. */
  async conninfo(name: string, database: string, as = this.#options.name): Promise<string> {
    const { hostOf, tls } = this.#options;
    const fields = {
      host: hostOf(name),
      port: "5432",
      user: replicationUser,
      ...(database === "replication" ? {} : { dbname: database }),
      application_name: as,
      connect_timeout: "2",
      keepalives_idle: "5",
      keepalives_interval: "2",
      keepalives_count: "3",
      tcp_user_timeout: "10000",
      sslmode: tls === undefined ? "prefer" : "verify-ca",
      ...(tls !== undefined && { sslrootcert: `${tls.directory}/ca.crt` }),
      passfile: this.#keep("pgpass"),
    };
    return Object.entries(fields)
      .map(([key, value]) => `${key}='${value.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`)
      .join(" ");
  }

  /** For tools that connect. */
  async secret(): Promise<{ [name: string]: string }> {
    return { PGPASSWORD: await this.#options.password() };
  }

  /** The settings that PostgreSQL accepted last. */
  async goodParameters(): Promise<Readonly<{ [name: string]: string }>> {
    const text = await readFile(this.#keep("parameters.json"), "utf8").catch(() => "{}");
    return parseKnownJson(text) as { [name: string]: string };
  }

  async keepGood(parameters: Readonly<{ [name: string]: string }>): Promise<void> {
    await writeChanged(this.#keep("parameters.json"), JSON.stringify(parameters));
  }
}
