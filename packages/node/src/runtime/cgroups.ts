/** Limits on memory, CPU and processes, where this machine lets us make control groups: usually only root may. */
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ContainerLimits, PodLimits } from "./container-runtime.ts";

/** The group of one node host. Who named it removes it, from outside, when nothing runs in it any more. */
export interface Cgroups {
  createPod(name: string, limits: PodLimits): Promise<PodGroup>;
}

/** Holds the groups of a pod's containers; what limits it limits all of them together. */
export interface PodGroup {
  create(name: string, limits: ContainerLimits): Promise<ContainerGroup>;
  limit(limits: PodLimits): Promise<void>;
  remove(): Promise<void>;
}

export interface ContainerGroup {
  /** Put before a command: the process enters the group before it becomes the command. */
  readonly enter: readonly string[];
  /** What the container sees of control groups: its own. */
  readonly mounts: readonly GroupMount[];
  /** Changes the limits of what runs. */
  limit(limits: ContainerLimits): Promise<void>;
  wasOomKilled(): Promise<boolean>;
  remove(): Promise<void>;
}

export interface GroupMount {
  readonly source: string;
  /** Below /sys/fs/cgroup; empty for the place itself. */
  readonly target: string;
}

const root = "/sys/fs/cgroup";
const periodMicros = 100_000;
const enterScript = 'while [ "$1" != -- ]; do echo $$ > "$1"; shift; done; shift; exec "$@"';

/** Undefined where groups cannot be made, which is the rule for an ordinary user. */
export async function openCgroups(name: string): Promise<Cgroups | undefined> {
  for (const attempt of [openUnified, openSeparate]) {
    const tree = await attempt(name).catch(() => undefined);
    if (tree !== undefined) return { createPod: (pod, limits) => createPod(tree, pod, limits) };
  }
  return undefined;
}

/** How one version of control groups keeps them. */
interface GroupTree {
  /** What a group is made of: one directory, or one for each controller. */
  readonly homes: readonly { readonly controller: string; readonly path: string }[];
  /** Called with the directories of a group, in the order of `homes`, that will have groups below it. */
  hold(directories: readonly string[]): Promise<void>;
  limit(directories: readonly string[], limits: PodLimits): Promise<void>;
  wasOomKilled(directories: readonly string[]): Promise<boolean>;
}

async function createPod(tree: GroupTree, name: string, limits: PodLimits): Promise<PodGroup> {
  const below = (path: string) => tree.homes.map((home) => join(home.path, path));
  const make = async (directories: readonly string[]) => {
    for (const path of directories) await mkdir(path, { recursive: true });
  };
  const pod = below(name);
  await make(pod);
  await tree.hold(pod);
  await tree.limit(pod, limits);
  return {
    limit: (changed) => tree.limit(pod, changed),
    remove: async () => {
      for (const path of pod) await removeBelow(path);
    },
    create: async (container, own) => {
      const directories = below(join(name, container));
      await make(directories);
      await tree.limit(directories, own);
      return {
        limit: (changed) => tree.limit(directories, changed),
        enter: [
          "sh",
          "-c",
          enterScript,
          "sh",
          ...directories.map((path) => join(path, "cgroup.procs")),
          "--",
        ],
        mounts: directories.map((source, index) => ({ source, target: tree.homes[index]?.controller ?? "" })),
        wasOomKilled: () => tree.wasOomKilled(directories).catch(() => false),
        remove: () => removeGroups(directories),
      };
    },
  };
}

/** Version 2: one tree. */
async function openUnified(name: string): Promise<GroupTree | undefined> {
  const [parent] = parents();
  const controllers = await readFile(join(parent, "cgroup.controllers"), "utf8");
  const wanted = ["memory", "cpu", "pids"];
  if (!wanted.every((controller) => controllers.split(/\s/).includes(controller))) return undefined;
  const hold = async ([path = ""]: readonly string[]) => {
    await writeFile(join(path, "cgroup.subtree_control"), wanted.map((each) => `+${each}`).join(" "));
  };
  const home = join(parent, name);
  await hold([parent]);
  await mkdir(home, { recursive: true });
  await hold([home]);
  return {
    homes: [{ controller: "", path: home }],
    hold,
    limit: async ([path = ""], { memoryBytes, cpuMillis, cpuShares, processes }) => {
      const write = (file: string, value: string | number) => writeFile(join(path, file), String(value));
      await write("memory.max", memoryBytes ?? "max");
      await write("memory.swap.max", memoryBytes === undefined ? "max" : 0).catch(() => undefined);
      await write("cpu.max", `${cpuMillis === undefined ? "max" : quota(cpuMillis)} ${periodMicros}`);
      await write("pids.max", processes ?? "max");
      if (cpuShares === undefined) return;
      const weight = Math.round(1 + ((Math.min(cpuShares, 262_144) - 2) * 9999) / 262_142);
      await write("cpu.weight", Math.max(1, weight));
    },
    wasOomKilled: async ([path = ""]) =>
      /^oom_kill [1-9]/m.test(await readFile(join(path, "memory.events"), "utf8")),
  };
}

/** Version 1: a tree per controller. */
async function openSeparate(name: string): Promise<GroupTree | undefined> {
  const [, ...separate] = parents();
  const homes = separateControllers.map((controller, index) => ({
    controller,
    path: join(separate[index] ?? "", name),
  }));
  if (!homes.every(({ controller }) => existsSync(join(root, controller)))) return undefined;
  for (const { path } of homes) await mkdir(path, { recursive: true });
  return {
    homes,
    hold: () => Promise.resolve(),
    limit: async ([memory = "", cpu = "", pids = ""], { memoryBytes, cpuMillis, cpuShares, processes }) => {
      await writeFile(join(memory, "memory.limit_in_bytes"), String(memoryBytes ?? -1));
      await writeFile(join(cpu, "cpu.cfs_period_us"), String(periodMicros));
      await writeFile(join(cpu, "cpu.cfs_quota_us"), String(cpuMillis === undefined ? -1 : quota(cpuMillis)));
      if (cpuShares !== undefined) await writeFile(join(cpu, "cpu.shares"), String(cpuShares));
      await writeFile(join(pids, "pids.max"), String(processes ?? "max"));
    },
    wasOomKilled: async ([memory = ""]) =>
      /^oom_kill [1-9]/m.test(await readFile(join(memory, "memory.oom_control"), "utf8")),
  };
}

/** Removes groups by name, with all below them. Their processes must be gone, or nearly so. */
export async function removeCgroups(isUnwanted: (name: string) => boolean): Promise<void> {
  for (const parent of new Set(parents())) {
    const names = await readdir(parent).catch(() => []);
    for (const home of names.filter(isUnwanted).map((name) => join(parent, name))) await removeBelow(home);
  }
}

async function removeBelow(path: string): Promise<void> {
  const inside = await readdir(path, { withFileTypes: true }).catch(() => []);
  for (const entry of inside) if (entry.isDirectory()) await removeBelow(join(path, entry.name));
  await removeGroups([path]);
}

/** A group is busy for a moment after its last process has gone. */
async function removeGroups(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    for (let tries = 0; tries < 20; tries++) {
      const done = await rmdir(path).then(
        () => true,
        ({ code }: NodeJS.ErrnoException) => code === "ENOENT" || code === "EACCES" || code === "EPERM",
      );
      if (done) break;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

function quota(millis: number): number {
  return Math.max(1000, Math.round((millis * periodMicros) / 1000));
}

const separateControllers = ["memory", "cpu", "pids"];

/** Where our groups may lie: in the unified tree, or in the tree of each controller. */
function parents(): [string, ...string[]] {
  const own = ownGroups();
  return [
    join(root, own.get("") ?? ""),
    ...separateControllers.map((controller) => join(root, controller, own.get(controller) ?? "")),
  ];
}

/** Controller → our own place in its tree; the unified tree has no name. */
function ownGroups(): Map<string, string> {
  const groups = new Map<string, string>();
  for (const line of readFileSync("/proc/self/cgroup", "utf8").trim().split("\n")) {
    const [, controllers = "", path = ""] = line.split(":");
    for (const controller of controllers.split(",")) groups.set(controller, path);
  }
  return groups;
}
