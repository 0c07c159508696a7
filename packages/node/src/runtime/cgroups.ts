/** Memory and CPU limits, where this machine lets us make control groups: usually only root may. */
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ContainerLimits } from "./container-runtime.ts";

export interface ContainerGroup {
  /** Put before a command: the process enters the group before it becomes the command. */
  readonly enter: readonly string[];
  /** Changes the limits of what runs. */
  limit(limits: ContainerLimits): Promise<void>;
  wasOomKilled(): Promise<boolean>;
  remove(): Promise<void>;
}

/** The group of one node host. Who named it removes it, from outside, when nothing runs in it any more. */
export interface Cgroups {
  create(name: string, limits: ContainerLimits): Promise<ContainerGroup>;
}

const root = "/sys/fs/cgroup";
const periodMicros = 100_000;
const enterScript = 'while [ "$1" != -- ]; do echo $$ > "$1"; shift; done; shift; exec "$@"';

/** Undefined where groups cannot be made, which is the rule for an ordinary user. */
export async function openCgroups(name: string): Promise<Cgroups | undefined> {
  const [unified, memory, cpu] = parents();
  const attempts = [
    () => UnifiedCgroups.open(unified, name),
    () => SeparateCgroups.open({ memory: join(memory, name), cpu: join(cpu, name) }),
  ];
  for (const attempt of attempts) {
    const opened = await attempt().catch(() => undefined);
    if (opened !== undefined) return opened;
  }
  return undefined;
}

/** Version 2: one tree. */
class UnifiedCgroups implements Cgroups {
  readonly #home: string;

  private constructor(home: string) {
    this.#home = home;
  }

  static async open(parent: string, name: string): Promise<Cgroups | undefined> {
    const controllers = await readFile(join(parent, "cgroup.controllers"), "utf8");
    if (!/\bmemory\b/.test(controllers) || !/\bcpu\b/.test(controllers)) return undefined;
    await writeFile(join(parent, "cgroup.subtree_control"), "+memory +cpu");
    const home = join(parent, name);
    await mkdir(home, { recursive: true });
    await writeFile(join(home, "cgroup.subtree_control"), "+memory +cpu");
    return new UnifiedCgroups(home);
  }

  async create(name: string, limits: ContainerLimits): Promise<ContainerGroup> {
    const path = join(this.#home, name);
    await mkdir(path, { recursive: true });
    const limit = async ({ memoryBytes, cpuMillis, cpuShares }: ContainerLimits) => {
      await writeFile(join(path, "memory.max"), String(memoryBytes ?? "max"));
      await writeFile(join(path, "memory.swap.max"), memoryBytes === undefined ? "max" : "0").catch(
        () => undefined,
      );
      await writeFile(
        join(path, "cpu.max"),
        `${cpuMillis === undefined ? "max" : quota(cpuMillis)} ${periodMicros}`,
      );
      if (cpuShares === undefined) return;
      const weight = Math.round(1 + ((Math.min(cpuShares, 262_144) - 2) * 9999) / 262_142);
      await writeFile(join(path, "cpu.weight"), String(Math.max(1, weight)));
    };
    await limit(limits);
    return group([path], limit, async () =>
      /^oom_kill [1-9]/m.test(await readFile(join(path, "memory.events"), "utf8")),
    );
  }
}

/** Version 1: a tree per controller. */
class SeparateCgroups implements Cgroups {
  readonly #homes: { memory: string; cpu: string };

  private constructor(homes: { memory: string; cpu: string }) {
    this.#homes = homes;
  }

  static async open(homes: { memory: string; cpu: string }): Promise<Cgroups | undefined> {
    if (!existsSync(join(root, "memory")) || !existsSync(join(root, "cpu"))) return undefined;
    for (const path of Object.values(homes)) await mkdir(path, { recursive: true });
    return new SeparateCgroups(homes);
  }

  async create(name: string, limits: ContainerLimits): Promise<ContainerGroup> {
    const memory = join(this.#homes.memory, name);
    const cpu = join(this.#homes.cpu, name);
    for (const path of [memory, cpu]) await mkdir(path, { recursive: true });
    const limit = async ({ memoryBytes, cpuMillis, cpuShares }: ContainerLimits) => {
      await writeFile(join(memory, "memory.limit_in_bytes"), String(memoryBytes ?? -1));
      await writeFile(join(cpu, "cpu.cfs_period_us"), String(periodMicros));
      await writeFile(join(cpu, "cpu.cfs_quota_us"), String(cpuMillis === undefined ? -1 : quota(cpuMillis)));
      if (cpuShares !== undefined) await writeFile(join(cpu, "cpu.shares"), String(cpuShares));
    };
    await limit(limits);
    return group([memory, cpu], limit, async () => {
      const control = await readFile(join(memory, "memory.oom_control"), "utf8");
      return /^oom_kill [1-9]/m.test(control);
    });
  }
}

/** Removes groups by name, with all below them. Their processes must be gone, or nearly so. */
export async function removeCgroups(isUnwanted: (name: string) => boolean): Promise<void> {
  for (const parent of new Set(parents())) {
    const names = await readdir(parent).catch(() => []);
    for (const home of names.filter(isUnwanted).map((name) => join(parent, name))) {
      const inside = await readdir(home, { withFileTypes: true }).catch(() => []);
      const groups = inside.filter((entry) => entry.isDirectory()).map(({ name }) => join(home, name));
      await removeGroups([...groups, home]);
    }
  }
}

function group(
  paths: readonly string[],
  limit: ContainerGroup["limit"],
  wasOomKilled: () => Promise<boolean>,
): ContainerGroup {
  return {
    limit,
    enter: ["sh", "-c", enterScript, "sh", ...paths.map((path) => join(path, "cgroup.procs")), "--"],
    wasOomKilled: () => wasOomKilled().catch(() => false),
    remove: () => removeGroups(paths),
  };
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

/** Where our groups may lie: in the unified tree, or in the trees of memory and CPU. */
function parents(): [string, string, string] {
  const own = ownGroups();
  const separate = (controller: string) => join(root, controller, own.get(controller) ?? "");
  return [join(root, own.get("") ?? ""), separate("memory"), separate("cpu")];
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
