/** The commands as a person types them, in a home of their own: `keelson` from this repository, and the real kubectl. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Census, census } from "@keelson/machine/testing";

const launcher = fileURLToPath(new URL("../../packages/keelson/bin/keelson.js", import.meta.url));

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export class Machine implements AsyncDisposable {
  readonly home: string;
  readonly #before: Census;

  private constructor(home: string) {
    this.home = home;
    this.#before = census(home);
  }

  static async start(): Promise<Machine> {
    const machine = new Machine(await mkdtemp(join(tmpdir(), "klc-")));
    // Its cluster runs in the background: it must not outlive a run that breaks off.
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, machine.#breakOff);
    return machine;
  }

  readonly #breakOff = () => void this[Symbol.asyncDispose]().finally(() => process.exit(1));

  /** Throws with what was said when the command fails. */
  async keelson(...args: string[]): Promise<string> {
    return await this.#succeed(process.execPath, [launcher, ...args]);
  }

  /** `keelson run`, which goes on until it is told to end; resolves when that is done. */
  start(...args: string[]): { readonly stop: () => Promise<Output> } {
    const child = this.#spawn(process.execPath, [launcher, ...args]);
    const ended = outputOf(child);
    return {
      stop: async () => {
        child.kill("SIGINT");
        return await ended;
      },
    };
  }

  async kubectl(...args: string[]): Promise<string> {
    return await this.#succeed("kubectl", args);
  }

  /** `kubectl edit`, with an editor that makes one substitution of sed. */
  async edit(target: string, substitution: string): Promise<string> {
    return await this.#succeed("kubectl", ["edit", target], {
      env: { KUBE_EDITOR: `sed -i '${substitution}'` },
    });
  }

  /** `kubectl apply` of objects. */
  async apply(...objects: readonly object[]): Promise<void> {
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
    await this.#succeed("kubectl", ["apply", "-f", "-"], { input });
  }

  /** What is here and was not when the machine was started; empty arrays when nothing is. */
  left(): Census {
    const now = census(this.home);
    return { ...now, groups: now.groups.filter((name) => !this.#before.groups.includes(name)) };
  }

  /** The kernel takes a moment to take down what was killed. */
  async quiet(withinMs = 10_000): Promise<Census> {
    const until = performance.now() + withinMs;
    for (;;) {
      const left = this.left();
      if (left.processes.length === 0 || performance.now() > until) return left;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async #succeed(command: string, args: readonly string[], more: More = {}): Promise<string> {
    const child = this.#spawn(command, args, more.env);
    child.stdin.on("error", () => undefined);
    child.stdin.end(more.input ?? "");
    const { code, stdout, stderr } = await outputOf(child);
    if (code === 0) return stdout;
    throw new Error(`${command} ${args.join(" ")} ended with ${code}: ${stderr || stdout}`);
  }

  #spawn(command: string, args: readonly string[], more: NodeJS.ProcessEnv = {}) {
    const state = join(this.home, "state");
    const KUBECONFIG = join(state, "clusters", "default", "kubeconfig");
    return spawn(command, args, { env: { ...process.env, KEELSON_STATE: state, KUBECONFIG, ...more } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, this.#breakOff);
    await this.keelson("cluster", "down");
    // A removed directory is one more proof: files of users that pods played would keep it.
    const { removeTree } = await import("@keelson/machine");
    await removeTree(this.home);
  }
}

interface More {
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
}

function outputOf(child: ChildProcessWithoutNullStreams): Promise<Output> {
  const { promise, resolve, reject } = Promise.withResolvers<Output>();
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.once("error", reject);
  child.once("close", (code) => resolve({ code: code ?? 1, stdout, stderr }));
  return promise;
}
