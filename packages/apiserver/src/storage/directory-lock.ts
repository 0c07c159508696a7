/** One process per data directory. */
import { mkdirSync, statSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { type HeldLock, holdLock } from "@keelson/machine";
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
  const name = process.platform === "linux" ? await holdName(directory) : undefined;
  let file: HeldLock;
  try {
    file = await holdLock(join(directory, "lock"), (pid, isElsewhere) =>
      isElsewhere ? elsewhere(directory, pid) : locked(directory, pid),
    );
  } catch (error) {
    name?.close();
    throw error;
  }
  return {
    release() {
      file.release();
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

function elsewhere(directory: string, pid: string): StorageError {
  const lock = join(directory, "lock");
  return new StorageError(
    "Locked",
    `cannot open ${directory}: process ${pid} of another container has it; stop that first, or remove ${lock} if that container is gone`,
  );
}

function locked(directory: string, pid?: string): StorageError {
  const who = pid === undefined ? "another process" : `process ${pid}`;
  return new StorageError("Locked", `cannot open ${directory}: ${who} has it; stop that first`);
}
