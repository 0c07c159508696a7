/** One process of the operator under `keelson dev`: warm, then loaded, then at work, then gone. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { privateCache } from "@keelson/machine";
import type { Project } from "../project.ts";
import { nodeFlagsFor } from "../run/operator-process.ts";
import type { FromOperator, ToOperator } from "./messages.ts";

/** A reconcile under way has this long to end when the code was changed; the next process repairs what is left. */
const RELOAD_GRACE_MS = 300;

/** What its owner hears. */
export interface OperatorProcessListener {
  said(message: FromOperator): void;
  /** A line of its output. */
  printed(line: string): void;
  /** It ended by itself. */
  ended(code: number | null, signal: NodeJS.Signals | null): void;
}

export class DevOperatorProcess {
  readonly #child: ChildProcess;
  readonly #gone: Promise<void>;
  #stopping = false;

  constructor(project: Project, env: Readonly<Record<string, string>>, listener: OperatorProcessListener) {
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const module = fileURLToPath(new URL(`./operator-main.${extension}`, import.meta.url));
    this.#child = spawn(
      process.execPath,
      [...nodeFlagsFor(project), "--enable-source-maps", module, project.directory],
      {
        cwd: project.directory,
        // Ctrl-C is for the command, which ends this one in its own time. It ends with its parent in any case.
        detached: true,
        stdio: ["ignore", "pipe", "pipe", "ipc"],
        env: { ...process.env, NODE_COMPILE_CACHE: join(privateCache(), "compile"), ...env },
      },
    );
    const { stdout, stderr } = this.#child;
    for (const stream of [stdout, stderr]) {
      if (stream)
        createInterface({ input: stream }).on("line", (line) => !this.#stopping && listener.printed(line));
    }
    this.#child.on("message", (message: FromOperator) => {
      if (!this.#stopping) listener.said(message);
    });
    this.#gone = new Promise((resolve) => {
      this.#child.once("error", () => resolve());
      this.#child.once("exit", (code, signal) => {
        if (!this.#stopping) listener.ended(code, signal);
        resolve();
      });
    });
  }

  tell(message: ToOperator): void {
    if (this.#child.connected) this.#child.send(message, undefined, undefined, () => {});
  }

  /** Resolves when it is gone. It is heard no more from now on. */
  async stop(graceMs = RELOAD_GRACE_MS): Promise<void> {
    this.#stopping = true;
    this.#child.kill("SIGTERM");
    const late = setTimeout(() => this.#child.kill("SIGKILL"), graceMs);
    await this.#gone;
    clearTimeout(late);
  }
}
