/** Programs the cluster needs: from the PATH, else from packages unpacked into the cache. */
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cacheDirectory, type Environment, makeOnce, privateCache } from "@keelson/machine";
import { fetchPackages, findOnPath, hasApt, unpackPackages } from "./debian.ts";
import { ImageError } from "./errors.ts";

/** A program of this machine, or one that was unpacked into the cache. */
export interface Program {
  readonly name: ProgramName;
  /** An absolute path that can be executed as it is, from anywhere. */
  readonly path: string;
  readonly origin: "path" | "cache";
}

/** Where programs are looked for, and who is told of downloads. */
export interface LocateOptions {
  readonly env?: Environment;
  readonly onProgress?: (sentence: string) => void;
}

interface Source {
  readonly package: string;
  /** Dependencies that serve installation only. */
  readonly without?: readonly string[];
  /** Where other distributions have it. */
  readonly hint: string;
}

const postgres: Source = {
  package: "postgresql",
  without: [
    "postgresql-common",
    "postgresql-client-common",
    "perl",
    "adduser",
    "locales",
    "ssl-cert",
    "tzdata",
  ],
  hint: "postgresql",
};

const sources = {
  bwrap: { package: "bubblewrap", hint: "bubblewrap" },
  ip: { package: "iproute2", without: ["debconf"], hint: "iproute2" },
  nft: { package: "nftables", hint: "nftables" },
  unshare: { package: "util-linux", hint: "util-linux" },
  nsenter: { package: "util-linux", hint: "util-linux" },
  script: { package: "bsdutils", hint: "util-linux" },
  newuidmap: { package: "uidmap", hint: "uidmap or shadow-utils" },
  etcd: { package: "etcd-server", without: ["adduser", "lsb-base", "pipexec"], hint: "etcd" },
  etcdctl: { package: "etcd-client", hint: "etcd" },
  "redis-server": {
    package: "redis-server",
    without: ["adduser", "lsb-base", "init-system-helpers"],
    hint: "redis",
  },
  "redis-cli": { package: "redis-tools", without: ["adduser"], hint: "redis" },
  memcached: {
    package: "memcached",
    without: ["adduser", "lsb-base", "init-system-helpers", "perl"],
    hint: "memcached",
  },
  nginx: { package: "nginx", without: ["iproute2", "lsb-base", "perl"], hint: "nginx" },
  postgres,
  initdb: postgres,
  pg_ctl: postgres,
  psql: { ...postgres, package: "postgresql-client" },
} satisfies Record<string, Source>;

/** Programs that can be located. */
export type ProgramName = keyof typeof sources;

/** Finds a program, fetching it into the cache when the machine lacks it. Nothing is installed. */
export async function locateProgram(name: ProgramName, options: LocateOptions = {}): Promise<Program> {
  const env = options.env ?? process.env;
  const installed = findOnPath(name, env) ?? (await findPostgres(name, "/"));
  if (installed !== undefined) return { name, path: installed, origin: "path" };
  const source: Source = sources[name];
  const home = join(cacheDirectory(env), "programs", source.package);
  if (!existsSync(home)) {
    if (!hasApt(env)) {
      throw new ImageError(
        "ProgramNotFound",
        `${name} is not on the PATH, and this machine has no apt-get to fetch it with: install ${source.hint} with the system's package manager`,
      );
    }
    privateCache(env);
    await makeOnce(home, (directory) => unpackProgram(source, directory, home, options));
  }
  const path = join(home, "bin", name);
  if (!existsSync(path)) {
    throw new ImageError(
      "ProgramNotFound",
      `package ${source.package} does not contain ${name}: install ${source.hint}`,
    );
  }
  return { name, path, origin: "cache" };
}

async function unpackProgram(source: Source, directory: string, home: string, options: LocateOptions) {
  const packages = await fetchPackages([source.package], {
    ...options,
    installed: "machine",
    without: source.without,
  });
  const root = join(directory, "root");
  await mkdir(root);
  await unpackPackages(packages, root);
  await mkdir(join(directory, "bin"));
  const libraries = (await libraryDirectories(root)).map((path) => join(home, "root", path));
  for (const place of [...(await programDirectories(root))]) {
    for (const name of await readdir(join(root, place))) {
      const target = join(home, "root", place, name);
      const search = libraries.length > 0 ? `LD_LIBRARY_PATH=${quote(libraries.join(":"))} ` : "";
      const wrapper = join(directory, "bin", name);
      await writeFile(wrapper, `#!/bin/sh\n${search}exec ${quote(target)} "$@"\n`);
      await chmod(wrapper, 0o755);
    }
  }
}

async function programDirectories(root: string): Promise<string[]> {
  const places = ["bin", "sbin", "usr/bin", "usr/sbin"].filter((place) => existsSync(join(root, place)));
  return [...places, ...(await postgresDirectories(root))];
}

async function libraryDirectories(root: string): Promise<string[]> {
  const found: string[] = [];
  for (const place of ["lib", "usr/lib"]) {
    if (!existsSync(join(root, place))) continue;
    for (const name of await readdir(join(root, place))) {
      if (/-linux-/.test(name)) found.push(join(place, name));
    }
  }
  return found;
}

async function postgresDirectories(root: string): Promise<string[]> {
  const versions = join(root, "usr/lib/postgresql");
  if (!existsSync(versions)) return [];
  const names = (await readdir(versions)).sort((a, b) => Number(b) - Number(a));
  return names.map((version) => join("usr/lib/postgresql", version, "bin"));
}

/** PostgreSQL's programs are off the PATH on Debian, one directory per major version. */
async function findPostgres(name: ProgramName, root: string): Promise<string | undefined> {
  if (!["postgres", "initdb", "pg_ctl", "psql"].includes(name)) return undefined;
  const paths = (await postgresDirectories(root)).map((directory) => join(root, directory, name));
  return paths.find((path) => existsSync(path));
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
