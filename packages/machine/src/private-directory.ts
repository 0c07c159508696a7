/** Directories that nobody but their owner may look into, even if they existed before, and with any umask. */
import { chmodSync, mkdirSync, statSync } from "node:fs";
import { cacheDirectory, type Environment } from "./cache-directory.ts";

/** Makes the directory, and takes everyone else's rights to it away where it is ours. Returns its path. */
export function privateDirectory(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const { mode, uid } = statSync(path);
  if ((mode & 0o077) !== 0 && uid === process.getuid?.()) chmodSync(path, mode & 0o700);
  return path;
}

/** The cache, to be written to: it holds what runs with its owner's rights. */
export function privateCache(env: Environment = process.env): string {
  return privateDirectory(cacheDirectory(env));
}
