/** Settings of Redis: those that the operator owns, those that it suggests, and those that a user gives. Pure. */
import type { Spec } from "../api/sampledb.ts";
import { identitySetting, redisPort } from "../engine/redis.ts";

export const paths = {
  data: "/data",
  config: "/etc/redis/conf",
  acl: "/etc/redis/acl",
  internal: "/etc/redis/internal",
  tls: "/etc/redis/tls",
  run: "/run/redis",
} as const;

/** Users of Redis that the operator makes. */
export const systemUsers = {
  operator: "keelson-operator",
  replica: "keelson-replica",
  backup: "keelson-backup",
  health: "keelson-health",
} as const;

/** What the operator decides: a user who could change it could lose data. */
function ownedSettings(spec: Spec): Record<string, string> {
  return {
    bind: "* -::*",
    "protected-mode": "no",
    ...(spec.tls
      ? {
          port: "0",
          "tls-port": String(redisPort),
          "tls-replication": "yes",
          "tls-auth-clients": "no",
          "tls-cert-file": `${paths.tls}/tls.crt`,
          "tls-key-file": `${paths.tls}/tls.key`,
          "tls-ca-cert-file": `${paths.tls}/ca.crt`,
        }
      : { port: String(redisPort) }),
    dir: paths.data,
    daemonize: "no",
    save: "",
    appendonly: "yes",
    appendfilename: "appendonly.aof",
    appenddirname: "appendonlydir",
    "aof-use-rdb-preamble": "yes",
    aclfile: `${paths.acl}/users.acl`,
    masteruser: systemUsers.replica,
    "replica-read-only": "yes",
    "replica-serve-stale-data": "yes",
    "repl-diskless-sync": "yes",
    "repl-diskless-sync-delay": "0",
    // A replica that hears nothing for two seconds knows that its primary is silent.
    "repl-ping-replica-period": "1",
    "repl-timeout": "30",
    // The operator raises it on the primary, see `guard`.
    "min-replicas-to-write": "0",
    "min-replicas-max-lag": String(spec.durability.maxLagSeconds),
    "shutdown-timeout": "10",
    // The hook has waited for the first append-only file. One that begins between the hook and the signal, which Redis
    // would refuse, ends as in a crash.
    "shutdown-on-sigterm": "force",
  };
}

/** What a user may change. */
const suggested: Readonly<Record<string, string>> = {
  appendfsync: "everysec",
  "repl-backlog-size": "64mb",
  "auto-aof-rewrite-percentage": "100",
  "auto-aof-rewrite-min-size": "64mb",
  "maxmemory-policy": "noeviction",
  // A server that runs a script is silent until then, and says from then on that it is busy, see `patienceMs`.
  "busy-reply-threshold": "1000",
};

/** What Redis knows under two names must not be told twice. */
function suggestedFor({ settings }: Spec): Record<string, string> {
  const twice = "lua-time-limit" in settings ? "busy-reply-threshold" : undefined;
  return Object.fromEntries(Object.entries(suggested).filter(([name]) => name !== twice));
}

/** Decided by the operator though no line of the file names them. */
const forbidden: ReadonlySet<string> = new Set([
  ...["replicaof", "slaveof", "masterauth", "requirepass", "user", "include", "rename-command", "loadmodule"],
  ...[
    "cluster-enabled",
    "cluster-config-file",
    "unixsocket",
    "unixsocketperm",
    "logfile",
    "pidfile",
    "dbfilename",
  ],
  ...["replica-announce-ip", "replica-announce-port", "slave-announce-ip", "slave-announce-port", "tls-port"],
  ...["rdb-del-sync-files", "enable-debug-command", "enable-module-command", "enable-protected-configs"],
  // A replica that evicts keys by itself is no copy, and a link that is silent looks dead.
  ...["replica-ignore-maxmemory", "slave-ignore-maxmemory", "repl-ping-slave-period"],
  ...["min-slaves-to-write", "min-slaves-max-lag", "slave-read-only", "slave-serve-stale-data", "supervised"],
  identitySetting,
]);

/** Redis reads these only when it starts. */
const fixedAtStart: ReadonlySet<string> = new Set([
  ...["databases", "io-threads", "io-threads-do-reads", "tcp-backlog", "disable-thp", "rdbchecksum"],
  ...["always-show-logo", "set-proc-title", "syslog-enabled", "syslog-facility", "bind-source-addr"],
]);

/** How many databases a server has with these settings: 16 as Redis comes. */
export function databasesOf(settings: Readonly<Record<string, string>>): number {
  return Number(settings["databases"] ?? 16);
}

/** Why a setting is not accepted; undefined when all are. There may be data in so many databases, if there is any. */
export function settingsProblem(spec: Spec, databasesWithData = 0): string | undefined {
  const owned = ownedSettings(spec);
  for (const [name, value] of Object.entries(spec.settings)) {
    if (!/^[a-z0-9-]+$/.test(name)) return `${JSON.stringify(name)} is not the name of a setting of Redis`;
    if (name in owned || forbidden.has(name))
      return `the setting ${name} is decided by the operator; remove it from spec.settings`;
    if (/[\n\r\0]/.test(value)) return `the value of the setting ${name} has more than one line`;
  }
  // Redis would load what is in a database that is gone into another one, without a word.
  const databases = databasesOf(spec.settings);
  if (databases < databasesWithData)
    return (
      `the setting databases cannot become ${databases}, because servers ran with ${databasesWithData} and there may be ` +
      `data in all of them; use a number not below ${databasesWithData} in spec.settings, or move the data to another SampleDB`
    );
  return undefined;
}

/** Settings that change while Redis runs. */
export function liveSettings(spec: Spec): ReadonlyMap<string, string> {
  const all = {
    ...suggestedFor(spec),
    ...spec.settings,
    "min-replicas-max-lag": String(spec.durability.maxLagSeconds),
  };
  return new Map(Object.entries(all).filter(([name]) => !fixedAtStart.has(name)));
}

/** Settings that need a restart to change. */
export function restartSettings(spec: Spec): Record<string, string> {
  const own = Object.entries(spec.settings).filter(([name]) => fixedAtStart.has(name));
  return Object.fromEntries(own.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The file itself. What the operator owns comes last and so wins. */
export function redisConf(spec: Spec): string {
  const all = { ...suggestedFor(spec), ...spec.settings, ...ownedSettings(spec) };
  const lines = Object.entries(all).map(([name, value]) => `${name} ${argument(value)}`);
  return `${[...lines, `include ${paths.run}/auth.conf`].join("\n")}\n`;
}

/** Words as they are, because several mean several arguments; anything else in quotes. */
function argument(value: string): string {
  if (/^[A-Za-z0-9.:/*_-]+( [A-Za-z0-9.:/*_-]+)*$/.test(value)) return value;
  return `"${value.replace(/["\\]/g, "\\$&")}"`;
}
