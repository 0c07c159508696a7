/** PostgreSQL's configuration files, as the agent writes them. */
import { quoteLiteral } from "../engine/pg-client.ts";

export interface ConfigurationOptions {
  readonly name: string;
  readonly socketDirectory: string;
  readonly parameters: Readonly<{ [name: string]: string }>;
  /** Of the volume. Absent: there is room for anything. */
  readonly volumeBytes?: number;
  /** Directory with tls.crt and tls.key. */
  readonly tls?: string;
  /** Archives a segment; without it nothing is archived. */
  readonly archiveCommand?: string;
  readonly restoreCommand?: string;
}

/** What a user may not set: the agent relies on it, or sets it itself. */
const reserved: readonly string[] = [
  ...["archive_command", "archive_mode", "archive_library", "cluster_name", "config_file", "data_directory"],
  ...[
    "external_pid_file",
    "fsync",
    "full_page_writes",
    "hba_file",
    "hot_standby",
    "ident_file",
    "listen_addresses",
  ],
  ...[
    "log_destination",
    "logging_collector",
    "port",
    "primary_conninfo",
    "primary_slot_name",
    "restart_after_crash",
  ],
  ...["restore_command", "ssl", "ssl_ca_file", "ssl_cert_file", "ssl_key_file", "synchronous_standby_names"],
  ...["unix_socket_directories", "unix_socket_permissions", "wal_log_hints", "wal_receiver_timeout"],
  ...["wal_sender_timeout", "include", "include_dir", "include_if_exists"],
  // By these a standby would end its recovery by itself, or do more than that at its end.
  ...["recovery_target", "recovery_target_action", "recovery_target_inclusive", "recovery_target_lsn"],
  ...["recovery_target_name", "recovery_target_time", "recovery_target_timeline", "recovery_target_xid"],
  ...["promote_trigger_file", "recovery_end_command", "archive_cleanup_command"],
];

/** PostgreSQL reads names in any case. */
export function isReserved(name: string): boolean {
  return reserved.includes(name.toLowerCase());
}

/** A standby must allow at least as much of these as its primary does, or it stops replaying. */
export const limits: readonly string[] = [
  "max_connections",
  "max_worker_processes",
  "max_wal_senders",
  "max_prepared_transactions",
  "max_locks_per_transaction",
];

/** PostgreSQL's own values for those that we do not set. */
const builtIn: Readonly<{ [name: string]: string }> = {
  max_worker_processes: "8",
  max_prepared_transactions: "0",
  max_locks_per_transaction: "64",
};

/** What is asked for, but of the limits at least what the primary has: they are lowered there first. */
export function withFloors(
  parameters: Readonly<{ [name: string]: string }>,
  floors: Readonly<{ [name: string]: string }>,
): Readonly<{ [name: string]: string }> {
  const raised = limits.filter((name) => Number(floors[name] ?? 0) > Number(wantedLimit(name, parameters)));
  return { ...parameters, ...Object.fromEntries(raised.map((name) => [name, floors[name] ?? ""])) };
}

export function wantedLimit(name: string, parameters: Readonly<{ [name: string]: string }>): string {
  return parameters[name] ?? defaults[name] ?? builtIn[name] ?? "0";
}

/** What holds when the user says nothing. */
const defaults: Readonly<{ [name: string]: string }> = {
  max_connections: "100",
  max_wal_senders: "16",
  max_replication_slots: "16",
  wal_level: "replica",
  checkpoint_timeout: "5min",
  synchronous_commit: "on",
  password_encryption: "scram-sha-256",
  log_line_prefix: "%m [%p] %q%u@%d ",
  log_checkpoints: "off",
};

/** The log must not fill a small volume: parts of it, and on a large one what PostgreSQL and its users expect. */
function logDefaults(volumeBytes = Number.POSITIVE_INFINITY): Readonly<{ [name: string]: string }> {
  const part = (share: number, most: number) =>
    `${Math.max(32, Math.min(most, Math.floor((volumeBytes * share) / 2 ** 20)))}MB`;
  return {
    wal_keep_size: part(0.1, 512),
    max_slot_wal_keep_size: part(0.2, 1_024),
    max_wal_size: part(0.2, 1_024),
    min_wal_size: part(0.05, 80),
  };
}

export function postgresqlConf(options: ConfigurationOptions): string {
  const { name, socketDirectory, parameters, tls } = options;
  const fixed: { [name: string]: string } = {
    cluster_name: name,
    listen_addresses: "*",
    port: "5432",
    unix_socket_directories: socketDirectory,
    unix_socket_permissions: "0700",
    hot_standby: "on",
    wal_log_hints: "on",
    fsync: "on",
    full_page_writes: "on",
    logging_collector: "off",
    log_destination: "stderr",
    // Messages are read by the agent, whatever language the clients want.
    lc_messages: "C",
    recovery_target_timeline: "latest",
    wal_receiver_timeout: "5s",
    wal_sender_timeout: "5s",
    wal_receiver_status_interval: "1s",
    wal_retrieve_retry_interval: "500ms",
    tcp_keepalives_idle: "5",
    tcp_keepalives_interval: "2",
    tcp_keepalives_count: "3",
    tcp_user_timeout: "10s",
    restart_after_crash: "on",
    archive_mode: "on",
    archive_command: options.archiveCommand ?? "/bin/true",
    archive_timeout: parameters["archive_timeout"] ?? "30s",
    ...(options.restoreCommand !== undefined && { restore_command: options.restoreCommand }),
    ...(tls !== undefined && { ssl: "on", ssl_cert_file: `${tls}/tls.crt`, ssl_key_file: `${tls}/tls.key` }),
  };
  const chosen = Object.entries({ ...defaults, ...logDefaults(options.volumeBytes), ...parameters }).filter(
    ([key]) => !isReserved(key),
  );
  const lines = [...chosen, ...Object.entries(fixed)].map(([key, value]) => `${key} = ${configValue(value)}`);
  return [
    "# Written by the Keelson agent; changes are lost.",
    ...lines,
    "include_if_exists = 'keelson.conf'",
    "",
  ].join("\n");
}

/** What changes while PostgreSQL runs, by reload. */
export function keelsonConf(options: {
  readonly primaryConninfo: string;
  readonly synchronousNames: string;
}): string {
  return [
    `primary_conninfo = ${configValue(options.primaryConninfo)}`,
    `synchronous_standby_names = ${configValue(options.synchronousNames)}`,
    "",
  ].join("\n");
}

export const replicationUser = "keelson_replication";

export interface HbaOptions {
  /** There are certificates: instances use TLS among themselves. */
  readonly tls: boolean;
  /** Clients must use it too. */
  readonly require: boolean;
  /** Nobody comes in but the instances themselves. */
  readonly closed: boolean;
}

/** Inside the pod nobody is asked; everybody else proves who they are. */
export function hbaConf({ tls, require, closed }: HbaOptions): string {
  return [
    "local all all trust",
    "local replication all trust",
    `${tls ? "hostssl" : "host"} replication ${replicationUser} all scram-sha-256`,
    `${tls ? "hostssl" : "host"} all ${replicationUser} all scram-sha-256`,
    `host all ${replicationUser} all reject`,
    `${require ? "hostssl" : "host"} all all all ${closed ? "reject" : "scram-sha-256"}`,
    "",
  ].join("\n");
}

function configValue(value: string): string {
  return quoteLiteral(value).trim().replace(/^E/, "");
}
