/** Brings a cluster up in the background, tells what it is, and takes it down. */
import { spawn } from "node:child_process";
import { closeSync, openSync, realpathSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { explainSystemError, holdLock, privateCache, startTicksOf } from "@keelson/machine";
import type { ClusterOptions } from "../cluster.ts";
import { ClusterError } from "../errors.ts";
import { type ClusterRecord, clusterDirectory, readRecord, removeState } from "./state.ts";

/** What a cluster in the background is started with. */
export interface UpOptions {
  readonly name?: string;
  readonly nodes?: number;
  readonly simulate?: ClusterOptions["simulate"];
  readonly maxPods?: number;
  readonly port?: number;
  readonly token?: string;
  readonly dataDir?: string;
  readonly apiserver?: ClusterOptions["apiserver"];
  readonly onProgress?: (sentence: string) => void;
}

/** What the background process says to its starter. */
export type FromServer =
  | { readonly type: "progress"; readonly sentence: string }
  | { readonly type: "ready"; readonly record: ClusterRecord }
  | { readonly type: "failed"; readonly message: string };

/**
 * Resolves when the API answers and every node is ready. A cluster of that name that runs already is returned as it is;
 * throws `InUse` when its data is not in the directory that is asked for.
 */
export async function clusterUp(
  options: UpOptions = {},
): Promise<ClusterRecord & { readonly existed: boolean }> {
  const name = options.name ?? "default";
  const running = await readRecord(name);
  if (running) return existing(running, options);
  const directory = clusterDirectory(name);
  if (options.dataDir !== undefined) assertKept(options.dataDir);
  await using _ = await holdName(name);
  // Another command may have brought it up until this one had its turn.
  const meanwhile = await readRecord(name);
  if (meanwhile) return existing(meanwhile, options);
  // What one that was killed left: without a data directory nothing of it is wanted back.
  await removeState(name);
  await mkdir(directory, { mode: 0o700 });
  const { onProgress, ...rest } = options;
  const settings = { ...rest, name, ...(rest.dataDir && { dataDir: resolve(rest.dataDir) }) };
  const log = join(directory, "cluster.log");
  const output = openSync(log, "a", 0o600);
  // The directory tells clusters apart in a list of processes; what may be secret is sent.
  const child = spawn(process.execPath, [...nodeArguments(), serverModule(), directory], {
    detached: true,
    stdio: ["ignore", output, output, "ipc"],
    env: { ...process.env, NODE_COMPILE_CACHE: join(privateCache(), "compile") },
  });
  closeSync(output);
  child.send(settings);
  const record = await new Promise<ClusterRecord>((ready, fail) => {
    child.on("message", (message: FromServer) => {
      if (message.type === "progress") onProgress?.(message.sentence);
      else if (message.type === "ready") ready(message.record);
      else fail(new ClusterError("StartFailed", message.message));
    });
    child.once("error", fail);
    child.once("exit", async (code, signal) => {
      const tail = (await readFile(log, "utf8").catch(() => "")).trimEnd().split("\n").slice(-5).join("\n");
      fail(
        new ClusterError(
          "StartFailed",
          `the cluster ended at once (${signal ?? `exit ${code}`}); the end of ${log}:\n${tail}`,
        ),
      );
    });
  });
  child.removeAllListeners("exit");
  child.disconnect();
  child.unref();
  return { ...record, existed: false };
}

function existing(
  record: ClusterRecord,
  { dataDir }: UpOptions,
): ClusterRecord & { readonly existed: boolean } {
  if (dataDir === undefined || record.dataDir === resolve(dataDir)) return { ...record, existed: true };
  const where = record.dataDir === undefined ? "keeps nothing" : `keeps its data in ${record.dataDir}`;
  throw new ClusterError(
    "InUse",
    `cluster ${record.name} is up already and ${where}, not in ${resolve(dataDir)}; take it down first, or choose another --name`,
  );
}

/** What lies among the state of clusters is removed with it. */
function assertKept(dataDir: string): void {
  const clusters = dirname(clusterDirectory("any"));
  const inside = relative(realPath(clusters), realPath(dataDir));
  if (inside.startsWith("..") || isAbsolute(inside)) return;
  throw new ClusterError(
    "BadDataDir",
    `the data directory ${resolve(dataDir)} is in ${clusters}, which holds what is removed with a cluster; choose another`,
  );
}

/** The path without links, as far as it exists. */
function realPath(path: string): string {
  const whole = resolve(path);
  try {
    return realpathSync(whole);
  } catch {
    return whole === dirname(whole) ? whole : join(realPath(dirname(whole)), basename(whole));
  }
}

/** Ends the cluster and everything that it started. True when there was one. */
export async function clusterDown(name = "default", graceMs = 20_000): Promise<boolean> {
  await using _ = await holdName(name);
  const record = await readRecord(name);
  if (record) {
    signal(record, "SIGTERM");
    // It may have been stopped.
    signal(record, "SIGCONT");
    if (!(await gone(record, graceMs))) {
      signal(record, "SIGKILL");
      await gone(record, 5_000);
    }
  }
  await removeState(name);
  return record !== undefined;
}

/** It may end by itself at any moment, and its number then becomes another's. */
function signal({ pid, startTicks }: ClusterRecord, name: NodeJS.Signals): void {
  if (startTicksOf(pid) !== startTicks) return;
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Held by the command that brings a cluster of that name up or takes it down. */
async function holdName(name: string): Promise<AsyncDisposable> {
  const directory = clusterDirectory(name);
  try {
    await mkdir(dirname(directory), { recursive: true, mode: 0o700 });
    return await holdLock(
      `${directory}.lock`,
      () =>
        new ClusterError(
          "InUse",
          `another command brings cluster ${name} up or takes it down; try again in a moment`,
        ),
    );
  } catch (error) {
    const explained = explainSystemError(error);
    throw explained === undefined ? error : new ClusterError("NoState", explained, { cause: error });
  }
}

async function gone({ pid, startTicks }: ClusterRecord, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (startTicksOf(pid) === startTicks) {
    if (performance.now() > deadline) return false;
    await new Promise((resume) => setTimeout(resume, 20));
  }
  return true;
}

/** From source the server is TypeScript, and its imports resolve to sources. */
function nodeArguments(): string[] {
  return import.meta.url.endsWith(".ts") ? ["--conditions=keelson-source"] : [];
}

function serverModule(): string {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  return fileURLToPath(new URL(`./server.${extension}`, import.meta.url));
}
