/** The operator as a process of its own beside the cluster, which may be told when to die. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Before or after the so-manieth change that it makes to Kubernetes or to etcd from now on. */
export interface Death {
  readonly change: number;
  readonly when: "before" | "after";
}

export class OperatorProcess {
  readonly #child: ChildProcess;
  /** What it has changed so far, in its order. */
  readonly changes: string[] = [];
  /** Resolves with its end, whatever that was. */
  readonly ended: Promise<unknown>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.ended = once(child, "exit");
    child.on("message", (change) => this.changes.push(String(change)));
  }

  /** Resolves when it works. */
  static async start(
    kubeconfig: string,
    {
      module = new URL("./crashing-operator.ts", import.meta.url),
      env = {},
    }: { readonly module?: URL; readonly env?: Readonly<Record<string, string>> } = {},
  ): Promise<OperatorProcess> {
    const child = spawn(process.execPath, ["--conditions=keelson-source", fileURLToPath(module)], {
      env: { ...process.env, ...env, KUBECONFIG: kubeconfig },
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    const process_ = new OperatorProcess(child);
    await new Promise<void>((resolve, reject) => {
      child.once("exit", (code) => reject(new Error(`the operator ended with ${code}`)));
      child.stdout?.setEncoding("utf8").on("data", (text: string) => {
        if (text.includes("caches are complete")) resolve();
      });
    });
    return process_;
  }

  /** Sentences it to death. Resolves when it knows. */
  async sentence({ change, when }: Death): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#child.send(`${change}:${when}`, (error) => (error ? reject(error) : resolve()));
    });
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async stop(): Promise<void> {
    if (!this.alive) return;
    this.#child.kill("SIGTERM");
    await this.ended;
  }
}
