/** Memory and CPU limits, where this machine lets us make control groups: usually only root may. */
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ContainerLimits } from "./container-runtime.ts";

export interface ContainerGroup {
  /** Put before a command: the process enters the group before it becomes the command. */
  readonly enter: readonly string[];
  wasOomKilled(): Promise<boolean>;
  remove(): Promise<void>;
}

export interface Cgroups {
  create(name: string, limits: ContainerLimits): Promise<ContainerGroup>;
  remove(): Promise<void>;
}

const root = "/sys/fs/cgroup";
const periodMicros = 100_000;
const enterScript = 'while [ "$1" != -- ]; do echo $$ > "$1"; shift; done; shift; exec "$@"';

/** Undefined where groups cannot be made, which is the rule for an ordinary user. */
export async function openCgroups(name: string): Promise<Cgroups | undefined> {
  const own = ownGroups();
  const attempts = [
    () => UnifiedCgroups.open(join(root, own.get("") ?? ""), name),
    () => SeparateCgroups.open(own, name),
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
    await removeChildren(home);
    await writeFile(join(home, "cgroup.subtree_control"), "+memory +cpu");
    return new UnifiedCgroups(home);
  }

  async create(name: string, limits: ContainerLimits): Promise<ContainerGroup> {
    const path = join(this.#home, name);
    await mkdir(path, { recursive: true });
    if (limits.memoryBytes !== undefined) {
      await writeFile(join(path, "memory.max"), String(limits.memoryBytes));
      await writeFile(join(path, "memory.swap.max"), "0").catch(() => undefined);
    }
    if (limits.cpuMillis !== undefined)
      await writeFile(join(path, "cpu.max"), `${quota(limits.cpuMillis)} ${periodMicros}`);
    if (limits.cpuShares !== undefined) {
      const weight = Math.round(1 + ((Math.min(limits.cpuShares, 262_144) - 2) * 9999) / 262_142);
      await writeFile(join(path, "cpu.weight"), String(Math.max(1, weight)));
    }
    return group([path], async () =>
      /^oom_kill [1-9]/m.test(await readFile(join(path, "memory.events"), "utf8")),
    );
  }

  async remove(): Promise<void> {
    await rmdir(this.#home).catch(() => undefined);
  }
}

/** Version 1: a tree per controller. */
class SeparateCgroups implements Cgroups {
  readonly #homes: { memory: string; cpu: string };

  private constructor(homes: { memory: string; cpu: string }) {
    this.#homes = homes;
  }

  static async open(own: ReadonlyMap<string, string>, name: string): Promise<Cgroups | undefined> {
    const home = (controller: string) => join(root, controller, own.get(controller) ?? "", name);
    const homes = { memory: home("memory"), cpu: home("cpu") };
    if (!existsSync(join(root, "memory")) || !existsSync(join(root, "cpu"))) return undefined;
    for (const path of Object.values(homes)) {
      await mkdir(path, { recursive: true });
      await removeChildren(path);
    }
    return new SeparateCgroups(homes);
  }

  async create(name: string, limits: ContainerLimits): Promise<ContainerGroup> {
    const memory = join(this.#homes.memory, name);
    const cpu = join(this.#homes.cpu, name);
    for (const path of [memory, cpu]) await mkdir(path, { recursive: true });
    if (limits.memoryBytes !== undefined)
      await writeFile(join(memory, "memory.limit_in_bytes"), String(limits.memoryBytes));
    if (limits.cpuMillis !== undefined) {
      await writeFile(join(cpu, "cpu.cfs_period_us"), String(periodMicros));
      await writeFile(join(cpu, "cpu.cfs_quota_us"), String(quota(limits.cpuMillis)));
    }
    if (limits.cpuShares !== undefined) await writeFile(join(cpu, "cpu.shares"), String(limits.cpuShares));
    return group([memory, cpu], async () => {
      const control = await readFile(join(memory, "memory.oom_control"), "utf8");
      return /^oom_kill [1-9]/m.test(control);
    });
  }

  async remove(): Promise<void> {
    for (const path of Object.values(this.#homes)) await rmdir(path).catch(() => undefined);
  }
}

/** What an earlier life of the node left: its processes are gone, the groups are not. */
async function removeChildren(home: string): Promise<void> {
  for (const entry of await readdir(home, { withFileTypes: true })) {
    if (entry.isDirectory()) await rmdir(join(home, entry.name)).catch(() => undefined);
  }
}

function group(paths: readonly string[], wasOomKilled: () => Promise<boolean>): ContainerGroup {
  return {
    enter: ["sh", "-c", enterScript, "sh", ...paths.map((path) => join(path, "cgroup.procs")), "--"],
    wasOomKilled: () => wasOomKilled().catch(() => false),
    remove: async () => {
      // A group is busy for a moment after its last process has gone.
      for (const path of paths) {
        for (let tries = 0; tries < 20; tries++) {
          const done = await rmdir(path).then(
            () => true,
            (error: NodeJS.ErrnoException) => error.code === "ENOENT",
          );
          if (done) break;
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      }
    },
  };
}

function quota(millis: number): number {
  return Math.max(1000, Math.round((millis * periodMicros) / 1000));
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
