/** Counts what clusters may leave on a machine: processes, mounts, namespaces, control groups, files. */
import { type Dirent, existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { isAbandoned } from "../owner.ts";

/** What clusters left on a machine. */
export interface Census {
  /** Process ids that belong to a cluster whose files lie below the directory. */
  readonly processes: readonly number[];
  /** Mounts below the directory, in this process's view. */
  readonly mounts: readonly string[];
  /** Network namespaces other than ours that those processes hold. */
  readonly networks: readonly string[];
  /** Control groups whose owner is gone, by name. */
  readonly groups: readonly string[];
  /** Paths below the directory. */
  readonly files: readonly string[];
}

/** `directory` is where the state of the clusters in question lies. */
export function census(directory: string): Census {
  const processes = processesOf(directory);
  const own = readlinkSync("/proc/self/ns/net");
  const networks = new Set(processes.map((pid) => linkOf(`/proc/${pid}/ns/net`)));
  return {
    processes,
    mounts: readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .filter((line) => line.includes(directory)),
    networks: [...networks].filter((network) => network !== "" && network !== own),
    groups: groups(),
    files: filesBelow(directory).map((path) => path.slice(directory.length + 1)),
  };
}

/** Named in its command line, its environment or its mounts: nothing of a cluster is without one of them. */
function processesOf(directory: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) =>
      ["cmdline", "mountinfo"].some((file) => textOf(`/proc/${pid}/${file}`).includes(directory)),
    )
    .map(Number);
}

/** All paths; what cannot be looked into counts as one. */
function filesBelow(directory: string): string[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
  return entries
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(directory, entry.name);
      return entry.isDirectory() ? [path, ...filesBelow(path)] : [path];
    });
}

function groups(): string[] {
  const own = textOf("/proc/self/cgroup")
    .split("\n")
    .map((line) => line.split(":")[2] ?? "");
  const places = [
    "/sys/fs/cgroup",
    "/sys/fs/cgroup/memory",
    "/sys/fs/cgroup/cpu",
    "/sys/fs/cgroup/pids",
  ].flatMap((place) => ["", ...own].map((path) => join(place, path)));
  const names = [...new Set(places)]
    .filter((path) => existsSync(path))
    .flatMap((path) => readdirSync(path))
    .filter((name) => isAbandoned(/^keelson-(\d+-\d+-\d+)-/.exec(name)?.[1] ?? ""));
  return [...new Set(names)].toSorted();
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
