/**
 * A reader who does what a guide says, in a home of their own. Packages come from this repository in place of a
 * registry: `npm create keelson` makes the project without an installation, and node_modules are those of the clone.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { root } from "../../run.ts";
import type { Step } from "./blocks.ts";

/** npm as everybody has it, but for what would ask a registry for packages that are here. */
const NPM = `#!/bin/sh
set -e
case "$1 $2" in
  "create keelson")
    shift 2; name=$1; shift; [ "$1" = "--" ] && shift
    node ${root}/packages/create-keelson/bin/create-keelson.js "$name" --yes --no-install "$@"
    ln -s ${root}/node_modules "$name/node_modules"
    cp "$READER_HOME/vitest.config.js" "$name/vitest.config.js"
    ;;
  "install "*) ;;
  *) exec "$READER_NPM" "$@" ;;
esac
`;

const FROM_SOURCE = `export default {
  ssr: { resolve: { conditions: ["keelson-source"] } },
  test: { execArgv: ["--conditions=keelson-source"], testTimeout: 120_000, isolate: false, maxWorkers: 1 },
};
`;

export class Reader implements AsyncDisposable {
  readonly home: string;
  readonly #env: NodeJS.ProcessEnv;
  #directory: string;
  #output = "";
  #background: ChildProcess | undefined;

  constructor() {
    this.home = mkdtempSync(join(tmpdir(), "keelson-guide-"));
    this.#directory = join(this.home, "work");
    mkdirSync(this.#directory);
    const bin = join(this.home, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "npm"), NPM);
    chmodSync(join(bin, "npm"), 0o755);
    writeFileSync(join(this.home, "vitest.config.js"), FROM_SOURCE);
    const node = dirname(process.execPath);
    const path = [bin, node, join(root, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
    this.#env = {
      ...process.env,
      PATH: path,
      READER_HOME: this.home,
      READER_NPM: npmOf(path, bin),
      KEELSON_STATE: join(this.home, "state"),
      KUBECONFIG: join(this.home, "kubeconfig"),
      NODE_OPTIONS: "--conditions=keelson-source",
      NO_COLOR: "1",
    };
  }

  async do(step: Step): Promise<void> {
    switch (step.type) {
      case "commands":
        this.#output = "";
        for (const command of step.commands) await this.#run(command);
        return;
      case "background":
        return await this.#start(step.command, step.until);
      case "end":
        return await this.#end();
      case "file": {
        const path = join(this.#directory, step.path);
        mkdirSync(dirname(path), { recursive: true });
        return writeFileSync(path, step.content);
      }
      case "edit": {
        const path = join(this.#directory, step.path);
        const text = readFileSync(path, "utf8");
        if (!text.includes(step.before)) throw new Error(`${step.path} has no\n${step.before}but\n${text}`);
        return writeFileSync(
          path,
          text.replace(step.before, () => step.after),
        );
      }
      case "output":
        return this.#read(step.lines);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
    rmSync(this.home, { recursive: true, force: true });
  }

  async #run(command: string): Promise<void> {
    const moved = /^cd (\S+)$/.exec(command)?.[1];
    if (moved !== undefined) {
      this.#directory = resolve(this.#directory, moved);
      return;
    }
    const exported = /^export (\w+)=(\S+)$/.exec(command);
    if (exported) {
      this.#env[exported[1] ?? ""] = exported[2];
      return;
    }
    const child = this.#spawn(command);
    const output = this.#listen(child);
    const [code] = (await once(child, "close")) as [number | null];
    if (code !== 0) throw new Error(`${command} ended with ${code}:\n${output()}`);
  }

  async #start(command: string, until: string): Promise<void> {
    this.#output = "";
    const child = this.#spawn(command);
    const output = this.#listen(child);
    this.#background = child;
    await new Promise<void>((resolve, reject) => {
      const look = () => output().includes(until) && resolve();
      child.stdout?.on("data", look);
      child.stderr?.on("data", look);
      child.once("exit", (code) => reject(new Error(`${command} ended with ${code}:\n${output()}`)));
    });
  }

  async #end(): Promise<void> {
    const child = this.#background;
    this.#background = undefined;
    if (!child?.pid || child.exitCode !== null || child.signalCode !== null) return;
    process.kill(-child.pid, "SIGINT");
    await once(child, "exit");
  }

  #spawn(command: string): ChildProcess {
    const options = { cwd: this.#directory, env: this.#env, detached: true } as const;
    return spawn("sh", ["-c", command], { ...options, stdio: ["ignore", "pipe", "pipe"] });
  }

  #listen({ stderr, stdout }: ChildProcess): () => string {
    let text = "";
    for (const stream of [stdout, stderr]) {
      stream?.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        this.#output += chunk;
      });
    }
    return () => text;
  }

  /** Each line, in order; lines between them are nobody's business. */
  #read(lines: readonly string[]): void {
    const pattern = lines
      .map((line) =>
        line
          .split("…")
          .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
          .join("[^\\n]*"),
      )
      .join("[\\s\\S]*?");
    if (!new RegExp(pattern).test(this.#output))
      throw new Error(`expected\n${lines.join("\n")}\nbut read\n${this.#output}`);
  }
}

function npmOf(path: string, own: string): string {
  const found = path.split(delimiter).find((folder) => folder !== own && existsSync(join(folder, "npm")));
  return join(found ?? "", "npm");
}
