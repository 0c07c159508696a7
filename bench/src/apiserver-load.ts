/** The load generator: a small program in Go, so that clients are cheap beside the servers they load. */
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "@keelson/machine";
import type { Server } from "./apiserver-servers.ts";

const source = join(import.meta.dirname, "../peers/load");

/** Builds it when it is not built yet; the path of the program. Throws when there is no Go. */
export function buildLoad(): string {
  const directory = join(cacheDirectory(), "bench");
  mkdirSync(directory, { recursive: true });
  const program = join(directory, "load");
  execFileSync("go", ["build", "-o", program, "."], { cwd: source, stdio: "inherit" });
  return program;
}

type LoadName = "create" | "get" | "list" | "delete" | "fanout";

export interface Measured {
  readonly perSecond: number;
  /** Processor time of the server for one of what is counted, in microseconds. */
  readonly cpuUs: number;
}

/** Runs one load from a process of its own against a server. */
export async function load(
  program: string,
  server: Server,
  name: LoadName,
  options: Readonly<Record<string, string | number | true>>,
): Promise<Measured> {
  const flags = Object.entries({
    server: server.address,
    token: server.token,
    ca: server.caFile,
    ...options,
  });
  const before = server.cpuMs();
  const { stdout } = await promisify(execFile)(program, [
    ...flags.map(([flag, value]) => `-${flag}=${value}`),
    name,
  ]);
  const cpuMs = server.cpuMs() - before;
  const { perSecond } = JSON.parse(stdout) as { perSecond: number };
  const count = Number(options["count"]) * (name === "fanout" ? Number(options["watchers"]) : 1);
  return { perSecond, cpuUs: (cpuMs * 1000) / count };
}
