/** Runs the upstream kubectl suite (test/cmd of Kubernetes) against a server and tells how each function ended. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { stripVTControlCharacters } from "node:util";

/** What the suite reads of a checkout. The rest of Kubernetes is not needed. */
const parts = [
  "hack/lib",
  "hack/testdata",
  "test/cmd",
  "test/e2e/testing-manifests",
  "test/fixtures/doc-yaml",
  "test/fixtures/pkg/kubectl",
  "third_party/forked/shell2junit",
];

export interface SuiteOptions {
  /** A checkout of Kubernetes at the version of `kubectl`; only read. */
  readonly checkout: string;
  readonly kubectl: string;
  /** On 127.0.0.1; the token `admin-token` is a member of system:masters there. */
  readonly port: number;
  /** Functions to run. Default: all of them. */
  readonly only?: readonly string[];
  /** Where the log of each function goes. */
  readonly logs: string;
  /** For one function. */
  readonly timeoutMs: number;
  readonly onResult: (result: FunctionResult) => void;
}

export interface FunctionResult {
  readonly name: string;
  readonly passed: boolean;
  readonly seconds: number;
  /** The first failing line, or that time ran out. */
  readonly reason: string;
}

/** The functions of the suite, in the order upstream runs them. */
export function suiteFunctions(checkout: string): string[] {
  const script = readFileSync(join(checkout, "test/cmd/legacy-script.sh"), "utf8");
  return [...script.matchAll(/^ +record_command (run_\w+)$/gm)].map((match) => match[1] ?? "");
}

/** Resolves when all have run. Checks outside every function that failed come as a result named `(between)`. */
export async function runSuite(options: SuiteOptions): Promise<void> {
  const workspace = mkdtempSync(join(tmpdir(), "keelson-kubectl-suite-"));
  try {
    copySuite(options, workspace);
    mkdirSync(options.logs, { recursive: true });
    await drive(options, workspace);
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
}

function copySuite({ checkout, kubectl }: SuiteOptions, workspace: string): void {
  for (const part of parts) {
    const from = join(checkout, part);
    if (!existsSync(from)) throw new Error(`${checkout} is not a checkout of Kubernetes: ${part} is missing`);
    cpSync(from, join(workspace, part), { recursive: true, verbatimSymlinks: true });
  }
  mkdirSync(join(workspace, "_output/bin"), { recursive: true });
  symlinkSync(kubectl, join(workspace, "_output/bin/kubectl"));
  mkdirSync(join(workspace, "tmp"));
  // The suite edits a fixture or two in place.
  chmodSync(workspace, 0o700);
}

async function drive(options: SuiteOptions, workspace: string): Promise<void> {
  const shell = spawn("bash", [join(import.meta.dirname, "drive.sh")], {
    cwd: workspace,
    stdio: ["ignore", "inherit", "inherit", "pipe"],
    env: {
      ...process.env,
      TMPDIR: join(workspace, "tmp"),
      // Tells the line that failed.
      KUBE_VERBOSE: "4",
      TERM: process.env["TERM"] ?? "xterm",
      SECURE_API_PORT: String(options.port),
      KEELSON_LOGS: options.logs,
      KEELSON_ONLY: (options.only ?? []).join(" "),
      KUBE_JUNIT_REPORT_DIR: join(workspace, "tmp"),
    },
  });
  const ended = once(shell, "exit");
  let group: number | undefined;
  const stop = () => {
    if (group !== undefined) process.kill(-group, "SIGKILL");
    shell.kill("SIGKILL");
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  let begun = 0;
  let isLate = false;
  let timer: NodeJS.Timeout | undefined;
  for await (const line of createInterface({ input: shell.stdio[3] as Readable })) {
    const [event = "", name = "", ...rest] = line.split(" ");
    if (event === "begin") {
      begun = performance.now();
      isLate = false;
      const started = Number(rest[0]);
      group = started;
      timer = setTimeout(() => {
        isLate = true;
        process.kill(-started, "SIGKILL");
      }, options.timeoutMs);
    } else if (event === "end") {
      clearTimeout(timer);
      group = undefined;
      const seconds = (performance.now() - begun) / 1000;
      const passed = rest[0] === "0";
      const reason = isLate ? "timeout; " : "";
      const log = join(options.logs, `${name}.log`);
      options.onResult({ name, passed, seconds, reason: passed ? "" : reason + firstFailure(log) });
    } else if (event === "between") {
      options.onResult({ name: "(between)", passed: false, seconds: 0, reason: [name, ...rest].join(" ") });
    }
  }
  clearTimeout(timer);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, stop);
  const [code] = await ended;
  if (begun === 0 && code !== 0) throw new Error(`the suite did not start: see ${options.logs}/drive.log`);
}

/** Of a function's log: where it gave up, and what was found there instead of what was expected. */
function firstFailure(log: string): string {
  const lines = stripVTControlCharacters(readFileSync(log, "utf8")).split("\n");
  const end = lines.findIndex((line) => line.startsWith("!!! "));
  const told = lines.slice(0, end < 0 ? lines.length : end).filter((line) => line.trim() !== "");
  const failed = told.findLastIndex((line) => line.includes("FAIL!"));
  const shown = told.length - failed < 12 && failed >= 0 ? told.slice(failed) : told.slice(-1);
  const stack = lines.slice(Math.max(end, 0)).join("\n");
  const place = /Error in [^ ]*test\/cmd\/([\w-]+\.sh:\d+. '.*')/.exec(stack)?.[1];
  const reason = shown.map((line) => line.trim()).join(" | ");
  return `${place === undefined ? "" : `${place}: `}${reason}`.slice(0, 300);
}
