/** The start scripts of the images we make, with the variables people know from the images of those names. */

/** Lets `args: ["--flag"]` and `args: ["file.conf"]` mean options of the server. */
export function optionsEntrypoint(server: string): string {
  return `#!/bin/sh
set -e
case "$1" in
  -* | *.conf) set -- ${server} "$@" ;;
esac
exec "$@"
`;
}

export const nodeEntrypoint = `#!/bin/sh
set -e
case "$1" in
  -* | *.js | *.mjs | *.cjs | *.ts) set -- node "$@" ;;
  *) command -v "$1" >/dev/null 2>&1 || set -- node "$@" ;;
esac
exec "$@"
`;

export const nginxEntrypoint = `#!/bin/sh
set -e
if [ "$1" = nginx ] && [ -d /docker-entrypoint.d ]; then
  for script in /docker-entrypoint.d/*.sh; do
    [ -x "$script" ] && "$script"
  done
fi
exec "$@"
`;

export const nginxConf = `worker_processes auto;
error_log /var/log/nginx/error.log notice;
pid /var/run/nginx.pid;
events {
  worker_connections 1024;
}
http {
  include /etc/nginx/mime.types;
  default_type application/octet-stream;
  access_log /var/log/nginx/access.log;
  sendfile on;
  keepalive_timeout 65;
  include /etc/nginx/conf.d/*.conf;
}
`;

export const nginxDefaultSite = `server {
  listen 80;
  listen [::]:80;
  server_name localhost;
  location / {
    root /usr/share/nginx/html;
    index index.html index.htm;
  }
  error_page 500 502 503 504 /50x.html;
  location = /50x.html {
    root /usr/share/nginx/html;
  }
}
`;

export const nginxIndexPage = `<!DOCTYPE html>
<html>
<head><title>Welcome to nginx!</title></head>
<body><h1>Welcome to nginx!</h1></body>
</html>
`;

/** Initialises the data directory on first start: POSTGRES_PASSWORD, _USER, _DB, _INITDB_ARGS, _HOST_AUTH_METHOD. */
export const postgresEntrypoint = `#!/bin/bash
set -e
secret() {
  local file="$1_FILE"
  if [ -n "\${!file}" ]; then export "$1=$(cat "\${!file}")"; fi
}
case "$1" in
  -*) set -- postgres "$@" ;;
esac
if [ "$1" = postgres ]; then
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA" 2>/dev/null || true
  if [ ! -s "$PGDATA/PG_VERSION" ]; then
    for name in POSTGRES_PASSWORD POSTGRES_USER POSTGRES_DB POSTGRES_INITDB_ARGS; do secret "$name"; done
    : "\${POSTGRES_USER:=postgres}" "\${POSTGRES_DB:=$POSTGRES_USER}"
    if [ -z "$POSTGRES_PASSWORD" ] && [ "$POSTGRES_HOST_AUTH_METHOD" != trust ]; then
      echo >&2 "Error: Database is uninitialized and superuser password is not specified."
      echo >&2 "       Set POSTGRES_PASSWORD, or POSTGRES_HOST_AUTH_METHOD=trust."
      exit 1
    fi
    eval "initdb --username=\\"$POSTGRES_USER\\" --pwfile=<(printf '%s\\n' \\"$POSTGRES_PASSWORD\\") $POSTGRES_INITDB_ARGS"
    printf '\\nhost all all all %s\\n' "\${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256}" >> "$PGDATA/pg_hba.conf"
    export PGPASSWORD="\${PGPASSWORD:-$POSTGRES_PASSWORD}"
    pg_ctl -D "$PGDATA" -o "-c listen_addresses= -p 5432" -w start
    run() { psql -v ON_ERROR_STOP=1 --no-psqlrc --username "$POSTGRES_USER" --no-password "$@"; }
    if [ "$POSTGRES_DB" != postgres ]; then
      run --dbname postgres --set db="$POSTGRES_DB" <<< 'CREATE DATABASE :"db";'
    fi
    for file in /docker-entrypoint-initdb.d/*; do
      case "$file" in
        *.sh) if [ -x "$file" ]; then "$file"; else . "$file"; fi ;;
        *.sql) run --dbname "$POSTGRES_DB" -f "$file" ;;
        *.sql.gz) gunzip -c "$file" | run --dbname "$POSTGRES_DB" ;;
      esac
    done
    pg_ctl -D "$PGDATA" -m fast -w stop
    unset PGPASSWORD
  fi
fi
exec "$@"
`;

/** Holds a sandbox and does nothing, until it is told to go. */
export const pauseScript = `#!/bin/sh
trap 'exit 0' TERM INT
while :; do
  sleep 3600 &
  wait $!
done
`;
