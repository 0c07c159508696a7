/** The images this machine can make by itself, under the names people use for them. */
import {
  nginxConf,
  nginxDefaultSite,
  nginxEntrypoint,
  nginxIndexPage,
  nodeEntrypoint,
  optionsEntrypoint,
  pauseScript,
  postgresEntrypoint,
} from "./entrypoints.ts";
import { emptyConfig, type ImageConfig } from "./image.ts";
import type { Account, RootDirectory } from "./root-directory.ts";

/** A program from the machine itself, for where no packages can be had. */
export interface MachineProgram {
  readonly command: string;
  /** Where it stands in the image. */
  readonly target: string;
  /** Copied also when packages are there, because none of them brings it. */
  readonly always?: boolean;
}

export interface Recipe {
  readonly name: string;
  /** Raised whenever `finish` makes something else of the same packages: results of older ones are not reused. */
  readonly revision: number;
  /** Repositories in full form, as `docker.io/library/redis`. */
  readonly repositories: readonly string[];
  readonly packages: readonly string[];
  /**
   * The package whose upstream version is the image's; a pattern where its name carries a version. Empty: the
   * version of the running Node.
   */
  readonly versionPackage: string | RegExp;
  readonly base: "debian" | "none";
  readonly programs: readonly MachineProgram[];
  /** Other tags that mean the one version there is. */
  readonly tags?: readonly string[];
  /** Any tag will do: the image has no version worth telling apart. */
  readonly anyTag?: boolean;
  readonly accounts?: readonly Account[];
  /** Its packages are listed in it, one file each in var/lib/dpkg/status.d, where scanners look for them. */
  readonly listsPackages?: boolean;
  config(version: string): Partial<ImageConfig>;
  finish?(root: RootDirectory, version: string): Promise<void>;
}

/** Dependencies that only maintainer scripts need; we run none. */
export const scriptDependencies: readonly string[] = [
  ...[
    "adduser",
    "debconf",
    "debconf-2.0",
    "init-system-helpers",
    "lsb-base",
    "perl",
    "perl-base",
    "usrmerge",
  ],
  ...["postgresql-common", "postgresql-client-common", "locales", "ssl-cert", "iproute2", "sysvinit-utils"],
  ...["systemd", "systemd-sysv", "pipexec", "dpkg", "logrotate", "libllvm14", "libllvm15", "libllvm19"],
];

const library = (name: string): string[] => [
  `docker.io/library/${name}`,
  `public.ecr.aws/docker/library/${name}`,
  `mirror.gcr.io/library/${name}`,
];

const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const redis: Account = { name: "redis", uid: 999, gid: 999, home: "/data" };
const postgres: Account = { name: "postgres", uid: 999, gid: 999, home: "/var/lib/postgresql" };
const memcache: Account = { name: "memcache", uid: 11211, gid: 11211 };
const nginx: Account = { name: "nginx", uid: 101, gid: 101, home: "/nonexistent" };
const node: Account = { name: "node", uid: 1000, gid: 1000, home: "/home/node" };
const nonroot: Account = { name: "nonroot", uid: 65532, gid: 65532, home: "/home/nonroot" };

/** The Node that runs is the Node that images are made of. */
const nodeMajor = process.versions.node.split(".")[0];

export const recipes: readonly Recipe[] = [
  {
    name: "etcd",
    revision: 1,
    repositories: [
      "gcr.io/etcd-development/etcd",
      "quay.io/coreos/etcd",
      "registry.k8s.io/etcd",
      "k8s.gcr.io/etcd",
      ...library("etcd"),
    ],
    packages: ["etcd-server", "etcd-client"],
    versionPackage: "etcd-server",
    base: "debian",
    programs: [
      { command: "etcd", target: "/usr/local/bin/etcd" },
      { command: "etcdctl", target: "/usr/local/bin/etcdctl" },
      { command: "etcdutl", target: "/usr/local/bin/etcdutl" },
    ],
    config: () => ({ cmd: ["/usr/local/bin/etcd"], exposedPorts: ["2379/tcp", "2380/tcp"] }),
    async finish(root) {
      for (const name of ["etcd", "etcdctl"]) {
        if (root.has(`usr/bin/${name}`)) await root.link(`usr/local/bin/${name}`, `/usr/bin/${name}`);
      }
      await root.directory("var/etcd");
      await root.directory("var/lib/etcd", 0o700);
    },
  },
  {
    name: "redis",
    revision: 1,
    repositories: library("redis"),
    packages: ["redis-server", "redis-tools", "redis-sentinel"],
    versionPackage: "redis-server",
    base: "debian",
    accounts: [redis],
    programs: [
      { command: "redis-server", target: "/usr/local/bin/redis-server" },
      { command: "redis-cli", target: "/usr/local/bin/redis-cli" },
    ],
    config: (version) => ({
      entrypoint: ["docker-entrypoint.sh"],
      cmd: ["redis-server"],
      env: [path, `REDIS_VERSION=${version}`],
      workingDir: "/data",
      volumes: ["/data"],
      exposedPorts: ["6379/tcp"],
    }),
    async finish(root) {
      await root.directory("data", 0o777, redis);
      for (const tool of ["server", "cli", "sentinel", "benchmark", "check-aof", "check-rdb"]) {
        const name = `redis-${tool}`;
        if (root.has(`usr/bin/${name}`)) await root.link(`usr/local/bin/${name}`, `/usr/bin/${name}`);
      }
      await root.write("usr/local/bin/docker-entrypoint.sh", optionsEntrypoint("redis-server"), 0o755);
    },
  },
  {
    name: "memcached",
    revision: 1,
    repositories: library("memcached"),
    packages: ["memcached"],
    versionPackage: "memcached",
    base: "debian",
    accounts: [memcache],
    programs: [{ command: "memcached", target: "/usr/local/bin/memcached" }],
    config: (version) => ({
      entrypoint: ["docker-entrypoint.sh"],
      cmd: ["memcached"],
      env: [path, `MEMCACHED_VERSION=${version}`],
      user: "memcache",
      exposedPorts: ["11211/tcp"],
    }),
    async finish(root) {
      if (root.has("usr/bin/memcached")) await root.link("usr/local/bin/memcached", "/usr/bin/memcached");
      await root.write("usr/local/bin/docker-entrypoint.sh", optionsEntrypoint("memcached"), 0o755);
    },
  },
  {
    name: "postgres",
    revision: 1,
    repositories: library("postgres"),
    packages: ["postgresql", "postgresql-client"],
    versionPackage: /^postgresql-\d+$/,
    base: "debian",
    accounts: [postgres],
    programs: [],
    config: (version) => {
      const major = version.split(".")[0] ?? version;
      return {
        entrypoint: ["docker-entrypoint.sh"],
        cmd: ["postgres"],
        env: [
          `PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/postgresql/${major}/bin`,
          ...[
            "LANG=C.UTF-8",
            `PG_MAJOR=${major}`,
            `PG_VERSION=${version}`,
            "PGDATA=/var/lib/postgresql/data",
          ],
        ],
        // The well-known image starts as root and steps down; an ordinary user's namespace has nobody to step down to.
        user: "postgres",
        volumes: ["/var/lib/postgresql/data"],
        exposedPorts: ["5432/tcp"],
        stopSignal: "SIGINT",
      };
    },
    async finish(root) {
      await root.directory("var/lib/postgresql", 0o777, postgres);
      await root.directory("var/lib/postgresql/data", 0o777, postgres);
      await root.directory("run/postgresql", 0o3777, postgres);
      await root.directory("docker-entrypoint-initdb.d");
      // Compiling queries needs a hundred megabytes of LLVM that we leave out; without this file it stays off.
      await root.remove(/^usr\/lib\/postgresql\/\d+\/lib\/llvmjit/);
      await root.write("usr/local/bin/docker-entrypoint.sh", postgresEntrypoint, 0o755);
    },
  },
  {
    name: "pgbouncer",
    revision: 1,
    repositories: [
      "ghcr.io/cloudnative-pg/pgbouncer",
      "docker.io/edoburu/pgbouncer",
      "docker.io/bitnami/pgbouncer",
      ...library("pgbouncer"),
    ],
    packages: ["pgbouncer"],
    versionPackage: "pgbouncer",
    base: "debian",
    accounts: [postgres],
    programs: [],
    config: () => ({
      cmd: ["pgbouncer", "/etc/pgbouncer/pgbouncer.ini"],
      env: [path],
      exposedPorts: ["6432/tcp"],
    }),
  },
  {
    name: "nginx",
    revision: 1,
    repositories: library("nginx"),
    packages: ["nginx"],
    versionPackage: "nginx",
    base: "debian",
    accounts: [nginx],
    programs: [],
    config: (version) => ({
      entrypoint: ["/docker-entrypoint.sh"],
      cmd: ["nginx", "-g", "daemon off;"],
      env: [path, `NGINX_VERSION=${version}`],
      exposedPorts: ["80/tcp"],
      stopSignal: "SIGQUIT",
    }),
    async finish(root) {
      await root.write("docker-entrypoint.sh", nginxEntrypoint, 0o755);
      await root.directory("docker-entrypoint.d");
      await root.write("etc/nginx/nginx.conf", nginxConf);
      await root.write("etc/nginx/conf.d/default.conf", nginxDefaultSite);
      await root.write("usr/share/nginx/html/index.html", nginxIndexPage);
      for (const place of ["var/log/nginx", "var/lib/nginx", "var/cache/nginx"])
        await root.directory(place, 0o777);
      await root.link("var/log/nginx/access.log", "/dev/stdout");
      await root.link("var/log/nginx/error.log", "/dev/stderr");
    },
  },
  {
    name: "node",
    revision: 1,
    repositories: library("node"),
    packages: ["libstdc++6", "libatomic1"],
    versionPackage: "",
    base: "debian",
    accounts: [node],
    programs: [{ command: process.execPath, target: "/usr/local/bin/node", always: true }],
    config: (version) => ({
      entrypoint: ["docker-entrypoint.sh"],
      cmd: ["node"],
      env: [path, `NODE_VERSION=${version}`],
    }),
    async finish(root) {
      await root.directory("home/node", 0o755, node);
      await root.write("usr/local/bin/docker-entrypoint.sh", nodeEntrypoint, 0o755);
    },
  },
  {
    // No shell, no tools: what an operator needs, and nothing to attack it with.
    name: "nodejs",
    revision: 1,
    repositories: [`gcr.io/distroless/nodejs${nodeMajor}-debian12`],
    packages: ["libc6", "libstdc++6", "libgcc-s1", "libatomic1"],
    versionPackage: "",
    base: "none",
    anyTag: true,
    listsPackages: true,
    accounts: [nonroot],
    programs: [{ command: process.execPath, target: "/nodejs/bin/node", always: true }],
    config: () => ({ entrypoint: ["/nodejs/bin/node"], env: [`${path}:/nodejs/bin`], workingDir: "/" }),
    async finish(root) {
      await root.directory("home/nonroot", 0o755, nonroot);
      // Documentation, and conversions of character sets, which Node has of its own.
      await root.remove(/^usr\/share\/(doc|lintian|locale|man)(\/|$)|\/gconv(\/|$)|^usr\/lib\/locale(\/|$)/);
    },
  },
  {
    name: "busybox",
    revision: 1,
    repositories: library("busybox"),
    packages: ["busybox"],
    versionPackage: "busybox",
    base: "none",
    tags: ["stable", "glibc", "musl"],
    programs: [{ command: "busybox", target: "/bin/busybox" }],
    config: () => ({ cmd: ["sh"] }),
  },
  {
    name: "debian",
    revision: 1,
    repositories: [...library("debian"), ...library("ubuntu")],
    packages: [],
    versionPackage: "base-files",
    base: "debian",
    programs: [],
    config: () => ({ cmd: ["bash"] }),
  },
  {
    name: "pause",
    revision: 1,
    repositories: [
      "registry.k8s.io/pause",
      "k8s.gcr.io/pause",
      "gcr.io/google-containers/pause",
      "rancher/mirrored-pause",
    ],
    packages: ["busybox"],
    versionPackage: "busybox",
    base: "none",
    anyTag: true,
    programs: [{ command: "busybox", target: "/bin/busybox" }],
    config: () => ({ entrypoint: ["/pause"], user: "65535:65535" }),
    async finish(root) {
      await root.write("pause", pauseScript, 0o755);
    },
  },
];

/** Raised whenever the base system is put together differently. */
export const baseRevision = 1;

/** The packages under every Debian-made image but the smallest. */
export const basePackages: readonly string[] = [
  ...[
    "base-files",
    "base-passwd",
    "bash",
    "coreutils",
    "dash",
    "debianutils",
    "diffutils",
    "findutils",
    "grep",
  ],
  ...["gzip", "hostname", "libc-bin", "mawk", "ncurses-base", "procps", "sed", "tar", "util-linux"],
];

/** A recipe's whole configuration. */
export function configOf(recipe: Recipe, version: string): ImageConfig {
  return { ...emptyConfig, ...recipe.config(version) };
}
