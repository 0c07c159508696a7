/** Where a cluster that runs in the background keeps what others need to find it. */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseJson } from "@keelson/core";
import { removeTree, startTicksOf } from "@keelson/machine";
import { ClusterError } from "../errors.ts";

/** What the background process writes when it is ready. */
export interface ClusterRecord {
  readonly name: string;
  readonly pid: number;
  /** Start time of that process in clock ticks: a process id alone may be another's by now. */
  readonly startTicks: string;
  readonly server: string;
  readonly kubeconfig: string;
  /** With which nodes ask for a certificate of their own. */
  readonly bootstrapKubeconfig: string;
  /** Where it takes questions. */
  readonly control: string;
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

/** Throws on a name that could lead elsewhere: what is found here is removed with the cluster. */
export function clusterDirectory(name: string, env?: NodeJS.ProcessEnv): string {
  if (!/^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$/.test(name)) {
    throw new ClusterError(
      "BadName",
      `"${name}" is no name for a cluster; use lower-case letters, digits and dashes`,
    );
  }
  return join(stateRoot(env), "clusters", name);
}

export async function writeRecord(record: ClusterRecord): Promise<void> {
  const directory = clusterDirectory(record.name);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, "cluster.json");
  await writeFile(`${path}.new`, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** The record of a cluster whose process is alive; what a dead one left is no record. */
export async function readRecord(name: string): Promise<ClusterRecord | undefined> {
  const path = join(clusterDirectory(name), "cluster.json");
  if (!existsSync(path)) return undefined;
  const record = parsed(await readFile(path, "utf8"));
  return record !== undefined && startTicksOf(record.pid) === record.startTicks ? record : undefined;
}

/** A power cut may leave the file empty: whose record it was is dead then. */
function parsed(text: string): ClusterRecord | undefined {
  try {
    return parseJson(text) as unknown as ClusterRecord;
  } catch {
    return undefined;
  }
}

export async function removeState(name: string): Promise<void> {
  await removeTree(clusterDirectory(name));
}

/** Names of the clusters that were started in the background and not taken down. */
export async function clusterNames(): Promise<string[]> {
  const root = join(stateRoot(), "clusters");
  if (!existsSync(root)) return [];
  const entries = await readdir(root, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}
