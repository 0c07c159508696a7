/** Where downloads, unpacked packages and images live between runs. */
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

/** Environment variables, by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** `$KEELSON_CACHE`, or `$XDG_CACHE_HOME/keelson`, or `~/.cache/keelson`; always absolute. */
export function cacheDirectory(env: Environment = process.env): string {
  if (env.KEELSON_CACHE) return resolve(env.KEELSON_CACHE);
  // The XDG rules say that a relative path is to be ignored.
  if (env.XDG_CACHE_HOME && isAbsolute(env.XDG_CACHE_HOME)) return join(env.XDG_CACHE_HOME, "keelson");
  return join(env.HOME || homedir(), ".cache", "keelson");
}
