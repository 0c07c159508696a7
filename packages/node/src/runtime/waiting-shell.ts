/**
 * Shells that wait for scripts. To start a process, the kernel copies the tables of the whole memory of the one that
 * starts it; for a node that is most of the price of a pod. A shell is small, so one is kept, and starts the rest.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import type { CommandResult } from "@keelson/machine";

/** As many scripts run at once; others wait. */
const most = 8;
/** A shell that has nothing to do for this long ends. */
const idleMs = 2_000;

const idle: WaitingShell[] = [];
const queue: ((shell: WaitingShell) => void)[] = [];
let running = 0;

/** Runs a script that stops at the first failing command. Its standard input is empty. */
export async function runInWaitingShell(script: string): Promise<CommandResult> {
  const shell = await take();
  try {
    return await shell.run(script);
  } finally {
    giveBack(shell);
  }
}

async function take(): Promise<WaitingShell> {
  const waiting = idle.pop();
  if (waiting) return waiting;
  if (running >= most) return await new Promise((resolve) => queue.push(resolve));
  running++;
  return new WaitingShell();
}

function giveBack(shell: WaitingShell): void {
  const next = queue.shift();
  if (next) {
    next(shell.isAlive ? shell : new WaitingShell());
  } else if (shell.isAlive) {
    idle.push(shell);
    shell.whenIdleFor(idleMs, () => {
      idle.splice(idle.indexOf(shell), 1);
      running--;
      shell.end();
    });
  } else {
    running--;
  }
}

class WaitingShell {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #out: Said;
  readonly #errors: Said;
  readonly #gone: Promise<never>;
  #timer: NodeJS.Timeout | undefined;
  isAlive = true;

  constructor() {
    this.#child = spawn("sh", [], { env: { ...process.env, LC_ALL: "C" } });
    this.#out = new Said(this.#child.stdout);
    this.#errors = new Said(this.#child.stderr);
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.#gone = promise;
    this.#child.stdin.on("error", () => undefined);
    this.#child.once("error", (error) => this.#lose(reject, error));
    this.#child.once("close", () => this.#lose(reject, new Error("a shell ended before its script")));
    this.#hold(false);
  }

  async run(script: string): Promise<CommandResult> {
    clearTimeout(this.#timer);
    this.#hold(true);
    const mark = randomUUID();
    // The shell reads the whole of what stands in parentheses before it begins.
    this.#child.stdin.write(
      `( set -e\n${script}) </dev/null\nstatus=$?; echo ${mark} $status; echo ${mark} $status >&2\n`,
    );
    try {
      const both = Promise.all([this.#out.until(mark), this.#errors.until(mark)]);
      const [out, errors] = await Promise.race([both, this.#gone]);
      return { code: out.code, stdout: out.text, stderr: errors.text };
    } finally {
      this.#hold(false);
    }
  }

  whenIdleFor(ms: number, then: () => void): void {
    this.#timer = setTimeout(then, ms).unref();
  }

  end(): void {
    this.#child.stdin.end();
  }

  #lose(reject: (error: Error) => void, error: Error): void {
    this.isAlive = false;
    reject(error);
  }

  /** While it waits, it does not keep the program from ending. */
  #hold(isBusy: boolean): void {
    const change = isBusy ? "ref" : "unref";
    this.#child[change]();
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) {
      (stream as { ref?: () => void; unref?: () => void })[change]?.();
    }
  }
}

/** One of the two streams on which a shell speaks, up to a mark with the exit code behind it. */
class Said {
  #text = "";
  #look: () => void = () => undefined;

  constructor(stream: Readable) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      this.#text += chunk;
      this.#look();
    });
  }

  async until(mark: string): Promise<{ readonly text: string; readonly code: number }> {
    const end = new RegExp(`${mark} (\\d+)\n$`);
    return await new Promise((resolve) => {
      this.#look = () => {
        const found = end.exec(this.#text);
        if (!found) return;
        const text = this.#text.slice(0, found.index);
        this.#text = "";
        resolve({ text, code: Number(found[1]) });
      };
      this.#look();
    });
  }
}
