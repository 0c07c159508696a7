// Our end of the keeper process: starts programs through it and tells when one of them ends by itself.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ControlPlaneError } from "./errors.ts";
import type { KeeperReport, KeeperRequest } from "./keeper.ts";

export type ProgramName = "etcd" | "kube-apiserver" | "kube-controller-manager" | "kube-scheduler";

/** Holds the programs of one control plane; `failure` settles with the first that ended without being told to. */
export class ProgramKeeper {
  readonly logs: string;
  readonly pids = new Map<ProgramName, number>();
  readonly failure: Promise<ControlPlaneError>;
  readonly #process: ChildProcess;
  /** How it ended. */
  readonly #ended: Promise<string>;
  #stopping = false;

  constructor(directory: string, logs: string) {
    this.logs = logs;
    mkdirSync(logs, { recursive: true });
    const failure = Promise.withResolvers<ControlPlaneError>();
    this.failure = failure.promise;
    const keeper = fileURLToPath(new URL("keeper.ts", import.meta.url));
    this.#process = spawn(process.execPath, [keeper, directory], {
      detached: true,
      env: programEnvironment(),
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#process.on("message", (report: KeeperReport) => {
      const name = report.name as ProgramName;
      if (report.type === "started") this.pids.set(name, report.pid);
      else if (!this.#stopping) failure.resolve(this.#whyEnded(name, report.how));
    });
    this.#ended = new Promise((ended) => {
      this.#process.on("exit", (code, signal) => ended(signal ?? `exit code ${code}`));
      this.#process.on("error", (error) => ended(error.message));
    });
    this.#ended.then((how) => {
      if (this.#stopping) return;
      failure.resolve(new ControlPlaneError("ProgramExited", `the keeper of the programs ended with ${how}`));
      // Its programs are in its process group, and nobody else looks after them now.
      killGroup(this.#process);
      rmSync(directory, { recursive: true, force: true });
    });
    // Whoever forgets to dispose of a control plane can still come to an end, and the keeper then cleans up.
    this.#process.unref();
    this.#process.channel?.unref();
  }

  start(name: ProgramName, command: string, args: readonly string[]): void {
    const request: KeeperRequest = { name, command, args, log: this.#logOf(name) };
    // A keeper that is gone is noticed by its exit.
    this.#process.send(request, () => {});
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#process.ref();
    if (this.#process.connected) this.#process.disconnect();
    await this.#ended;
  }

  #whyEnded(name: ProgramName, how: string): ControlPlaneError {
    const log = this.endOfLog(name);
    const taken = /listen tcp (\S+): bind: address already in use/.exec(log)?.[1];
    if (taken !== undefined)
      return new ControlPlaneError("PortInUse", `${name} cannot listen on ${taken}: it is in use`);
    return new ControlPlaneError("ProgramExited", `${name} ended with ${how}; the end of its log:\n${log}`);
  }

  /** The last few thousand characters that a program printed. */
  endOfLog(name: ProgramName): string {
    try {
      return readFileSync(this.#logOf(name), "utf8").slice(-4_000).trim();
    } catch {
      return "(it has none)";
    }
  }

  #logOf(name: ProgramName): string {
    return join(this.logs, `${name}.log`);
  }
}

function killGroup(leader: ChildProcess): void {
  try {
    if (leader.pid !== undefined) process.kill(-leader.pid, "SIGKILL");
  } catch {
    // The group is empty: nothing was left.
  }
}

/** Programs get what Go reads and no more: etcd takes ETCD_* for flags, and a proxy would stand between webhooks. */
function programEnvironment(): NodeJS.ProcessEnv {
  const kept = ["PATH", "HOME", "TMPDIR", "TZ", "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG"];
  return Object.fromEntries(
    kept.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}
