/** What the container of a server runs: it prepares the volume as the operator asked, and becomes redis-server. */
import { volumeState } from "../agent/task.ts";
import { identityPrefix, identitySetting, nowhere } from "../engine/redis.ts";
import { paths, systemUsers } from "./settings.ts";

/** Before a server starts it puts its data aside, if another version wrote it, which may be a newer one. */
export interface VolumePlan {
  /** What the data is called from then on. */
  readonly aside: string;
}

/** The key of a server's plan in the ConfigMap. */
export function planKey(server: string): string {
  return `plan.${server}`;
}

export function planText({ aside }: VolumePlan): string {
  return `${aside}\n`;
}

/**
 * Data that a restore set aside, and nothing put in its place, is put back: nobody fills the volume while a server starts
 * on it. The version is written last: a start that was cut short begins again.
 */
export const startScript = `#!/bin/sh
set -eu
cd ${paths.data}
aof=appendonlydir
state=${volumeState.directory}
mkdir -p $state
unfinished=$state/${volumeState.unfinished}
if [ -s $unfinished ]; then
  read -r aside < $unfinished
  if [ ! -d $aof ] && [ -d "$state/$aside" ]; then
    echo "a restore was cut short: the data that it had set aside is put back"
    mv "$state/$aside" $aof
    sync
  fi
  rm $unfinished
fi
identity=$state/${volumeState.identity}
if [ ! -s $identity ]; then
  cat /proc/sys/kernel/random/uuid > $identity.new
  mv $identity.new $identity
  sync
fi
read -r identity < $identity
version="$(redis-server --version)"
version="\${version#*v=}"
version="\${version%% *}"
version="\${version%.*}"
wrote="$(cat $state/version 2>/dev/null || true)"
plan=${paths.config}/plan.$(hostname)
if [ -f "$plan" ]; then
  read -r aside < "$plan"
  if [ -d $aof ] && [ "$wrote" != "$version" ]; then
    echo "preparing the volume: the data becomes $aside"
    rm -rf "$state/$aside"
    mv $aof "$state/$aside"
    sync
  fi
fi
[ "$wrote" = "$version" ] || echo "$version" > $state/version
port=${nowhere.portWithData}
[ -s $aof/appendonly.aof.manifest ] || port=${nowhere.portWhenEmpty}
umask 077
printf 'masterauth "%s"\\n' "$(cat ${paths.internal}/${systemUsers.replica})" > ${paths.run}/auth.conf
exec redis-server ${paths.config}/redis.conf --replicaof ${nowhere.host} $port \\
  --${identitySetting} ${identityPrefix}$identity
`;

const healthCli = `redis-cli --user ${systemUsers.health} --pass - --no-auth-warning`;
const tlsOptions = ` --tls --cacert ${paths.tls}/ca.crt`;

/** A server that loads its data answers, and is not ready. */
export function readinessScript(tls: boolean): string {
  return `${healthCli}${tls ? tlsOptions : ""} ping | grep -q PONG`;
}

/**
 * Any answer will do, also that there are too many clients, which a server with TLS says by closing the connection. A
 * process that is gone refuses it, and one that hangs uses up the time of the probe.
 */
export function livenessScript(tls: boolean): string {
  return `case "$(${healthCli}${tls ? tlsOptions : ""} ping 2>&1)" in "Could not connect"*) exit 1 ;; esac`;
}

/** How often a server that is to stop looks whether it may, and how often at most because it still leads. */
const stopWait = { looks: 300, looksAsPrimary: 40, pauseSeconds: 0.1 } as const;

/**
 * A primary that is told to stop waits until the operator has handed over to a replica. Without one that is connected,
 * or without an operator, it stops all the same.
 *
 * A server that writes its data to its volume waits until that is done: Redis refuses the signal while it writes its
 * first append-only file after a full copy, and forgets it, so that the pod would end by force when its time is up.
 */
export function preStopScript(tls: boolean): string {
  const cli = `timeout 1 redis-cli --user ${systemUsers.backup} --no-auth-warning${tls ? tlsOptions : ""}`;
  return [
    `export REDISCLI_AUTH="$(cat ${paths.internal}/${systemUsers.backup})"`,
    `for look in $(seq ${stopWait.looks}); do`,
    `  state="$(${cli} info persistence replication)"`,
    '  case "$state" in',
    "    *aof_rewrite_in_progress:1*) ;;",
    `    *role:master*state=online*) [ $look -le ${stopWait.looksAsPrimary} ] || exit 0 ;;`,
    "    *) exit 0 ;;",
    "  esac",
    `  sleep ${stopWait.pauseSeconds}`,
    "done",
  ].join("\n");
}
