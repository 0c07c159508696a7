/** One process per data directory. */
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { parseJson } from "@keelson/core";
import { startTicksOf } from "@keelson/machine";
import { StorageError } from "./errors.ts";

export interface DirectoryLock {
  release(): void;
}

/**
 * Takes the directory or throws `Locked`. On Linux the kernel holds the lock, by a name that vanishes with
 * the process however it ends; elsewhere a file with our process id does, and is taken over from the dead.
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, "lock");
  const name = process.platform === "linux" ? await holdName(directory) : undefined;
  try {
    writeOwner(directory, file);
  } catch (error) {
    name?.close();
    throw error;
  }
  return {
    release() {
      rmSync(file, { force: true });
      name?.close();
    },
  };
}

function holdName(directory: string): Promise<Server> {
  const { dev, ino } = statSync(directory);
  const server = createServer((socket) => socket.destroy());
  server.unref();
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "EADDRINUSE" ? locked(directory) : error),
    );
    server.listen({ path: `\0keelson-data-${dev}-${ino}` }, () => resolve(server));
  });
}

function writeOwner(directory: string, file: string): void {
  const owner = readOwner(file);
  if (owner !== undefined && isSameProcess(owner)) throw locked(directory, owner.pid);
  rmSync(file, { force: true });
  let handle: number;
  try {
    handle = openSync(file, "wx", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw locked(directory);
    throw error;
  }
  writeSync(handle, JSON.stringify({ pid: process.pid, started: startTicksOf(process.pid) ?? null }));
  closeSync(handle);
}

interface Owner {
  readonly pid: number;
  /** Tells a process from another that got its number later. */
  readonly started: string | null;
}

function readOwner(file: string): Owner | undefined {
  try {
    return parseJson(readFileSync(file, "utf8")) as unknown as Owner;
  } catch {
    return undefined;
  }
}

/** One that was killed and not yet buried holds nothing any more. */
function isSameProcess({ pid, started }: Owner): boolean {
  const now = startTicksOf(pid);
  return now !== undefined && (started === null || started === now);
}

function locked(directory: string, pid?: number): StorageError {
  const who = pid === undefined ? "another process" : `process ${pid}`;
  return new StorageError("Locked", `cannot open ${directory}: ${who} has it; stop that first`);
}
