#!/usr/bin/env bash
# Runs the functions of the upstream kubectl suite one after the other, in the order upstream runs them. The working
# directory is a copy of the suite. On descriptor 3 it tells its parent what happens:
#   begin NAME PID · end NAME CODE · between LINE COMMAND (a check outside every function failed)
# Environment: SECURE_API_PORT; KEELSON_LOGS, a directory for drive.log and one log per function; KEELSON_ONLY, names or nothing.

# Nothing is built and no etcd is started: the server and kubectl are there.
make() { :; }
exec >"${KEELSON_LOGS}/drive.log" 2>&1
source hack/lib/init.sh
source hack/lib/test.sh
source test/cmd/legacy-script.sh
kube::etcd::start() { :; }
kube::etcd::cleanup() { :; }

# Each function is a process group of its own, so that the parent can end one that hangs, with all it started.
record() {
  local name=$1 pid code=0
  set -o monitor
  (
    set +o monitor
    trap kube::log::errexit ERR
    trap - EXIT
    "$@"
  ) </dev/null >"${KEELSON_LOGS}/${name}.log" 2>&1 3>&- &
  pid=$!
  set +o monitor
  echo "begin ${name} ${pid}" >&3
  wait "${pid}" || code=$?
  echo "end ${name} ${code}" >&3
}

# With WHAT, upstream runs run_${WHAT}_tests alone and no check between functions.
if [[ -n "${KEELSON_ONLY}" ]]; then WHAT=chosen; fi
record_command() {
  local name
  if [[ $1 != run_chosen_tests ]]; then record "$@"; return 0; fi
  for name in ${KEELSON_ONLY}; do record "${name}"; done
}

create_node() {
  kubectl create -f - <<END
apiVersion: v1
kind: Node
metadata: { name: 127.0.0.1, annotations: { save-managers: "true" } }
status: { capacity: { memory: 1Gi } }
END
}

between() {
  if [[ ${BASHPID} == "$$" ]]; then echo "between $1 $2" >&3; fi
}

setup
create_node
export SUPPORTED_RESOURCES=("*") ALLOW_SKEW=true
# What fails between two functions is told and does not end the run.
set +o errexit
trap 'between "${LINENO}" "${BASH_COMMAND%%$'\''\n'\''*}"' ERR
runTests
