/** What the container of a server runs: it prepares the volume as the operator asked, and becomes redis-server. */
import { nowhere } from "../engine/redis.ts";
import { paths, systemUsers } from "./settings.ts";

/**
 * What a server does with its volume before it starts, each once, known by its id:
 *
 * - `copy`: keeps a copy of the data beside it, to go back to.
 * - `back`: puts that copy in place again and keeps what was there.
 * - `empty`: puts the data aside, because the version that starts cannot read it.
 */
export interface VolumePlan {
  readonly id: string;
  readonly action: "copy" | "back" | "empty";
  /** The copy that `copy` makes and `back` uses. */
  readonly copy: string;
}

/** The key of a server's plan in the ConfigMap. */
export function planKey(server: string): string {
  return `plan.${server}`;
}

export function planText({ id, action, copy }: VolumePlan): string {
  return `${id} ${action} ${copy}\n`;
}

/**
 * Files of the base are never written to again, so a link is a copy of them; the newest part of the append-only file
 * is appended to, so it is copied. A marker is written last: a start that was cut short begins again from a clean slate.
 */
export const startScript = `#!/bin/sh
set -eu
cd ${paths.data}
aof=appendonlydir
state=.keelson
mkdir -p $state
plan=${paths.config}/plan.$(hostname)
if [ -f "$plan" ]; then
  read -r id action copy < "$plan"
  if [ ! -e "$state/done-$id" ]; then
    echo "preparing the volume: $action $copy ($id)"
    case "$action" in
      copy)
        rm -rf "$state/$copy"
        mkdir -p "$state/$copy"
        for file in $aof/*; do
          case "$file" in
            *.incr.aof) cp "$file" "$state/$copy/" ;;
            *.manifest) cp "$file" "$state/$copy/" ;;
            *) ln "$file" "$state/$copy/" 2>/dev/null || cp "$file" "$state/$copy/" ;;
          esac
        done
        ;;
      back)
        if [ -d "$state/$copy" ]; then
          rm -rf "$state/after-$copy"
          [ ! -d $aof ] || mv $aof "$state/after-$copy"
          mv "$state/$copy" $aof
        fi
        ;;
      empty)
        if [ -d $aof ]; then
          rm -rf "$state/$copy"
          mv $aof "$state/$copy"
        fi
        ;;
    esac
    sync
    : > "$state/done-$id"
  fi
fi
port=${nowhere.portWithData}
[ -s $aof/appendonly.aof.manifest ] || port=${nowhere.portWhenEmpty}
umask 077
printf 'masterauth "%s"\\n' "$(cat ${paths.internal}/${systemUsers.replica})" > ${paths.run}/auth.conf
exec redis-server ${paths.config}/redis.conf --replicaof ${nowhere.host} $port
`;

const healthCli = `redis-cli --user ${systemUsers.health} --pass - --no-auth-warning`;
const tlsOptions = ` --tls --cacert ${paths.tls}/ca.crt`;

/** A server that loads its data answers, and is not ready. */
export function readinessScript(tls: boolean): string {
  return `${healthCli}${tls ? tlsOptions : ""} ping | grep -q PONG`;
}

/** Any answer will do: what matters is that the process gets to give one. */
export function livenessScript(tls: boolean): string {
  return `${healthCli}${tls ? tlsOptions : ""} ping | grep -q .`;
}

/** How often a primary that is to stop looks whether it still leads, and how long that may take. */
const handoverWait = { looks: 40, pauseSeconds: 0.1 } as const;

/**
 * A primary that is told to stop waits until the operator has handed over to a replica. Without one that is connected,
 * or without an operator, it stops all the same.
 */
export function preStopScript(tls: boolean): string {
  const cli = `timeout 1 redis-cli --user ${systemUsers.backup} --no-auth-warning${tls ? tlsOptions : ""}`;
  return [
    `export REDISCLI_AUTH="$(cat ${paths.internal}/${systemUsers.backup})"`,
    `for look in $(seq ${handoverWait.looks}); do`,
    `  state="$(${cli} info replication)"`,
    `  case "$state" in *role:master*state=online*) sleep ${handoverWait.pauseSeconds} ;; *) exit 0 ;; esac`,
    "done",
  ].join("\n");
}
