/** Where a cluster that runs in the background keeps what others need to find it. */
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

/** What the background process writes when it is ready. */
export interface ClusterRecord {
  readonly name: string;
  readonly pid: number;
  /** Start time of that process in clock ticks: a process id alone may be another's by now. */
  readonly startTicks: string;
  readonly server: string;
  readonly kubeconfig: string;
  readonly nodes: number;
  readonly pods: "real" | "simulated" | "none";
  readonly dataDir?: string;
  readonly startedAt: string;
}

/** `$KEELSON_STATE`, else `$XDG_STATE_HOME/keelson`, else `~/.local/state/keelson`. */
export function stateRoot(env: NodeJS.ProcessEnv = process.env): string {
  const { KEELSON_STATE, XDG_STATE_HOME } = env;
  return KEELSON_STATE ?? join(XDG_STATE_HOME ?? join(homedir(), ".local/state"), "keelson");
}

export function clusterDirectory(name: string, env?: NodeJS.ProcessEnv): string {
  return join(stateRoot(env), "clusters", name);
}

export async function writeRecord(record: ClusterRecord): Promise<void> {
  const directory = clusterDirectory(record.name);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await writeFile(join(directory, "cluster.json"), `${JSON.stringify(record, undefined, 2)}\n`, {
    mode: 0o600,
  });
}

/** The record of a cluster whose process is alive; what a dead one left is no record. */
export async function readRecord(name: string): Promise<ClusterRecord | undefined> {
  const path = join(clusterDirectory(name), "cluster.json");
  if (!existsSync(path)) return undefined;
  const record = JSON.parse(await readFile(path, "utf8")) as ClusterRecord;
  return startTicksOf(record.pid) === record.startTicks ? record : undefined;
}

export async function removeState(name: string): Promise<void> {
  await rm(clusterDirectory(name), { recursive: true, force: true });
}

export async function clusterNames(): Promise<string[]> {
  const root = join(stateRoot(), "clusters");
  return existsSync(root) ? (await readdir(root)).sort() : [];
}

/** Start time of a process, or undefined when there is none; a zombie counts as none. */
export function startTicksOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
