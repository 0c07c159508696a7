/** Brings a cluster up in the background, tells what it is, and takes it down. */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
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

/** Resolves when the API answers and every node is ready. A cluster of that name that runs already is returned as it is. */
export async function clusterUp(
  options: UpOptions = {},
): Promise<ClusterRecord & { readonly existed: boolean }> {
  const name = options.name ?? "default";
  const running = await readRecord(name);
  if (running) return { ...running, existed: true };
  const directory = clusterDirectory(name);
  await using _ = await holdName(name);
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

/** Ends the cluster and everything that it started. True when there was one. */
export async function clusterDown(name = "default", graceMs = 20_000): Promise<boolean> {
  await using _ = await holdName(name);
  const record = await readRecord(name);
  if (record) {
    process.kill(record.pid, "SIGTERM");
    // It may have been stopped.
    process.kill(record.pid, "SIGCONT");
    if (!(await gone(record, graceMs))) {
      process.kill(record.pid, "SIGKILL");
      await gone(record, 5_000);
    }
  }
  await removeState(name);
  return record !== undefined;
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
