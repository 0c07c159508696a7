/**
 * The loop of `keelson dev`: the operator's process, and its successor at every save. States of a process: warm (waits
 * for a save) → loading → at work → gone. The one at work goes on until its successor's code is loaded.
 */
import type { Project } from "../project.ts";
import type { DevEvent } from "./events.ts";
import type { FromOperator, KindName } from "./messages.ts";
import { DevOperatorProcess } from "./operator-process.ts";
import { logLine } from "./words.ts";

export interface LoopParts {
  readonly project: Project;
  /** What the operator finds in its environment: the cluster, and where its webhooks are. */
  readonly env: () => Promise<Readonly<Record<string, string>>>;
  readonly tell: (event: DevEvent) => void;
  /** The kinds that the operator has now. */
  readonly kinds: (kinds: readonly KindName[]) => void;
  /** The operator works. */
  readonly works: () => void;
}

/** How the runtime logs a reconcile that failed. */
const RETRIED = "the reconcile failed and will be tried again";

/** At the end of the command a reconcile under way may end; what was only loading has none. */
const END_GRACE_MS = 5_000;

interface Life {
  readonly process: DevOperatorProcess;
  warm: boolean;
}

export class OperatorLoop {
  readonly #parts: LoopParts;
  #warm: Life | undefined;
  #loading: Life | undefined;
  #working: Life | undefined;
  #load: { readonly startedAt: number; readonly files: readonly string[] } = { startedAt: 0, files: [] };
  #installed = "";
  #controllers: Readonly<Record<string, string>> = {};
  #closed = false;

  constructor(parts: LoopParts) {
    this.#parts = parts;
  }

  /** Loads the code as it is now, in place of what runs. */
  async load(files: readonly string[] = []): Promise<void> {
    this.#load = { startedAt: performance.now(), files };
    if (files.length > 0) this.#parts.tell({ type: "changed", files });
    // Code that was saved while it was being loaded is loaded again, by a process that has not seen it.
    const before = this.#loading;
    this.#loading = undefined;
    if (before) void before.process.stop(0);
    const life = this.#warm ?? (await this.#spawn());
    this.#warm = undefined;
    if (this.#closed) return await life.process.stop(0);
    this.#loading = life;
    if (life.warm) this.#begin(life);
  }

  async stop(): Promise<void> {
    this.#closed = true;
    const lives = [this.#warm, this.#loading, this.#working].filter((life) => life !== undefined);
    this.#warm = undefined;
    await Promise.all(
      lives.map(({ process }) => process.stop(process === this.#working?.process ? END_GRACE_MS : 0)),
    );
  }

  async #spawn(): Promise<Life> {
    const env = await this.#parts.env();
    const life: Life = {
      warm: false,
      process: new DevOperatorProcess(this.#parts.project, env, {
        said: (message) => void this.#heard(life, message),
        printed: (line) => {
          const { level, text } = logLine(line);
          // What a reconcile met is told with the reconcile.
          if (!text.startsWith(RETRIED)) this.#parts.tell({ type: "log", level, text });
        },
        ended: (code, signal) => this.#ended(life, code, signal),
      }),
    };
    return life;
  }

  #begin({ process }: Life): void {
    process.tell({ type: "load", installed: this.#installed });
  }

  async #heard(life: Life, message: FromOperator): Promise<void> {
    const { kinds, tell, works } = this.#parts;
    switch (message.type) {
      case "warm":
        life.warm = true;
        if (life === this.#loading) this.#begin(life);
        return;
      case "loaded": {
        if (life !== this.#loading) return;
        this.#controllers = message.controllers;
        tell({ ...message, kinds: message.kinds.map(({ kind }) => kind) });
        kinds(message.kinds);
        const before = this.#working;
        this.#working = undefined;
        await before?.process.stop();
        if (life !== this.#loading) return;
        this.#working = life;
        life.process.tell({ type: "start" });
        return;
      }
      case "installed":
        this.#installed = message.crds;
        tell({ type: "installed", kinds: message.kinds });
        return;
      case "broken":
        if (life !== this.#loading && life !== this.#working) return;
        if (life === this.#loading) this.#loading = undefined;
        if (life === this.#working) this.#working = undefined;
        tell({ type: "broken", text: message.text, goesOn: this.#working !== undefined });
        this.#keepWarm();
        return;
      case "working":
        if (life !== this.#working) return;
        this.#loading = undefined;
        tell({
          type: "working",
          ms: performance.now() - this.#load.startedAt,
          cpuMs: message.cpuMs,
          files: this.#load.files,
        });
        works();
        this.#keepWarm();
        return;
      case "reconciled": {
        const { report } = message;
        tell({ type: "reconciled", report, kind: this.#controllers[report.controller] ?? report.controller });
      }
    }
  }

  /** The next process, before anybody asks for it. */
  #keepWarm(): void {
    if (this.#warm || this.#closed) return;
    void this.#spawn().then((life) => {
      if (this.#warm || this.#closed) void life.process.stop(0);
      else this.#warm = life;
    });
  }

  #ended(life: Life, code: number | null, signal: NodeJS.Signals | null): void {
    if (life === this.#warm) this.#warm = undefined;
    if (life !== this.#loading && life !== this.#working) return;
    if (life === this.#loading) this.#loading = undefined;
    if (life === this.#working) this.#working = undefined;
    this.#parts.tell({ type: "ended", how: signal === null ? `with exit code ${code}` : `by ${signal}` });
    this.#keepWarm();
  }
}
