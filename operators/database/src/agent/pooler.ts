/**
 * The first process in a pooler's pod: keeps PgBouncer pointed at the primary, and holds clients back while primaryship is
 * handed over. A pause ends by itself, whatever happens to the one who asked for it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { PgClient, type PgRow } from "../engine/pg-client.ts";
import { parseKnownJson } from "../ha/json.ts";
import { Certificates } from "./certificates.ts";
import { serverEnvironment } from "./tools.ts";
import { agentPort, type Handler, probePort, serve } from "./wire.ts";

/** The variable that holds the settings as JSON. */
export const poolerVariable = "KEELSON_POOLER";
export const poolerPort = 6432;

export interface PoolerSettings {
  /** Where the primary is until an agent says so itself. */
  readonly host: string;
  readonly mode: "session" | "transaction";
  readonly poolSize: number;
  readonly maxClients: number;
  /** Where the agents' key, the users and the certificates are mounted. */
  readonly secrets: string;
  readonly users: string;
  readonly tls: string;
  readonly requireTls: boolean;
  /** Where it writes. */
  readonly directory: string;
}

/** The longest that clients are held back by one request. */
const longestPauseMs = 20_000;

export function poolerConf(settings: PoolerSettings, primary: string): string {
  const { directory } = settings;
  const lines = {
    listen_addr: "*",
    listen_port: String(poolerPort),
    unix_socket_dir: directory,
    auth_type: "scram-sha-256",
    auth_file: join(directory, "users.txt"),
    // Processes of our own user may ask, and nobody else.
    admin_users: "",
    pool_mode: settings.mode,
    default_pool_size: String(settings.poolSize),
    max_client_conn: String(settings.maxClients),
    max_prepared_statements: "200",
    ignore_startup_parameters: "extra_float_digits,options",
    server_login_retry: "1",
    server_connect_timeout: "5",
    server_tls_sslmode: "verify-ca",
    server_tls_ca_file: join(directory, "ca.crt"),
    client_tls_sslmode: settings.requireTls ? "require" : "allow",
    // Nobody is asked for a certificate, but without this PgBouncer wants the system's authorities, and images have none.
    client_tls_ca_file: join(directory, "ca.crt"),
    client_tls_key_file: join(directory, "tls.key"),
    client_tls_cert_file: join(directory, "tls.crt"),
    query_wait_timeout: "60",
    log_connections: "0",
    log_disconnections: "0",
  };
  const text = Object.entries(lines).map(([key, value]) => `${key} = ${value}`);
  return ["[databases]", `* = host=${primary} port=5432`, "", "[pgbouncer]", ...text, ""].join("\n");
}

class Pooler {
  readonly #settings: PoolerSettings;
  readonly #certificates: Certificates;
  #child: ChildProcess | undefined;
  #primary: string;
  #users = "";
  #resume: NodeJS.Timeout | undefined;
  isEnding = false;

  constructor(settings: PoolerSettings) {
    this.#settings = settings;
    this.#primary = settings.host;
    this.#certificates = new Certificates({ source: settings.tls, directory: settings.directory });
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async start(): Promise<void> {
    const { directory } = this.#settings;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    await this.#refresh();
    this.#write();
    this.#spawn();
    setInterval(() => {
      this.#keep().catch((error: unknown) => console.log(`pooler: ${String(error)}`));
    }, 5_000);
  }

  /** Resolves when no transaction is open any more; throws after the deadline, and goes on pausing new ones. */
  async pause({ timeoutMs }: { readonly timeoutMs: number }): Promise<void> {
    clearTimeout(this.#resume);
    this.#resume = setTimeout(() => void this.#ask("RESUME").catch(() => undefined), longestPauseMs);
    await this.#ask("PAUSE", timeoutMs);
  }

  /** Sends clients to this host from now on, and lets them go on. */
  async point({ host }: { readonly host: string }): Promise<void> {
    const isOther = host !== this.#primary;
    this.#primary = host;
    if (isOther) {
      this.#write();
      await this.#ask("RELOAD");
    }
    const isPaused = this.#resume !== undefined;
    clearTimeout(this.#resume);
    this.#resume = undefined;
    if (isPaused) await this.#ask("RESUME");
    else if (isOther) await this.#ask("RECONNECT");
  }

  async show(what: "POOLS" | "STATS_TOTALS"): Promise<PgRow[]> {
    return await this.#ask(`SHOW ${what}`);
  }

  async stop(): Promise<void> {
    this.isEnding = true;
    const child = this.#child;
    if (!child || !this.isRunning) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    // Lets what runs finish, and takes nothing new.
    child.kill("SIGINT");
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 10_000))]);
    child.kill("SIGKILL");
  }

  #write(): void {
    const { directory } = this.#settings;
    writeFileSync(join(directory, "pgbouncer.ini"), poolerConf(this.#settings, this.#primary), {
      mode: 0o600,
    });
  }

  #spawn(): void {
    const child = spawn("pgbouncer", [join(this.#settings.directory, "pgbouncer.ini")], {
      stdio: "inherit",
      env: serverEnvironment(),
    });
    child.once("error", (error) => console.log(`pgbouncer cannot be started: ${error.message}`));
    this.#child = child;
  }

  /** Users and certificates change under us; PgBouncer is told, and started again if it has ended. */
  async #keep(): Promise<void> {
    if (this.isEnding) return;
    const isChanged = await this.#refresh();
    if (!this.isRunning) this.#spawn();
    else if (isChanged) await this.#ask("RELOAD");
  }

  async #refresh(): Promise<boolean> {
    const { users, directory } = this.#settings;
    const text = await readFile(join(users, "users.txt"), "utf8");
    const isOther = text !== this.#users;
    this.#users = text;
    if (isOther) writeFileSync(join(directory, "users.txt"), text, { mode: 0o600 });
    return (await this.#certificates.refresh()) || isOther;
  }

  async #ask(command: string, timeoutMs = 5_000): Promise<PgRow[]> {
    await using client = await PgClient.connect({
      host: this.#settings.directory,
      port: poolerPort,
      user: "pgbouncer",
      database: "pgbouncer",
    });
    return await client.query(command, { timeoutMs });
  }
}

async function main(): Promise<void> {
  const settings = parseKnownJson(process.env[poolerVariable] ?? "{}") as PoolerSettings;
  const pooler = new Pooler(settings);
  await pooler.start();
  const handlers = new Map<string, Handler>([
    ["POST /pause", async (body) => await pooler.pause(body as { timeoutMs: number })],
    ["POST /point", async (body) => await pooler.point(body as { host: string })],
    [
      "GET /report",
      async () => ({ pools: await pooler.show("POOLS"), totals: await pooler.show("STATS_TOTALS") }),
    ],
  ]);
  const key = () => Buffer.from(readFileSync(join(settings.secrets, "key"), "utf8").trim(), "base64");
  serve(handlers, key).listen(agentPort);
  createServer((_, outgoing) => void outgoing.writeHead(pooler.isRunning ? 200 : 503).end()).listen(
    probePort,
  );
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => void pooler.stop().finally(() => process.exit(0)));
  }
}

// The operator imports this module too, and what it imports must not await anything to become one file.
if (process.argv[1] === import.meta.filename) void main();
