/** One container as a process tree in a bubblewrap sandbox. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { constants as os } from "node:os";
import type { Readable, Writable } from "node:stream";
import { NodeError } from "../errors.ts";
import { bubblewrapArguments, type ContainerView, playsAnotherUser } from "./bubblewrap.ts";
import type { ContainerGroup } from "./cgroups.ts";
import { confinementProgram } from "./confinement.ts";
import type {
  ContainerExit,
  ContainerHandle,
  ContainerLimits,
  ContainerSpec,
  ContainerUsage,
  ExecRequest,
  ExecSession,
  TerminalSize,
} from "./container-runtime.ts";
import { closeWhenIdle, onlyData } from "./exec-output.ts";
import type { FifoPool, OutputPipe } from "./fifo-pool.ts";
import type { KernelPaths } from "./kernel-paths.ts";
import { readInfo } from "./process-holder.ts";
import { ContainerProcesses, usageOf } from "./process-tree.ts";
import type { ProgramFiles } from "./program-files.ts";
import type { Processor } from "./syscalls.ts";
import { childrenOf, onTerminal, resizeTerminal } from "./terminal.ts";

export interface ContainerTools {
  readonly bwrap: string;
  readonly nsenter: string;
  readonly script: string;
}

export interface ContainerSetting {
  readonly tools: ContainerTools;
  readonly fifos: FifoPool;
  readonly view: ContainerView;
  /** nsenter's options for the pod's namespaces. */
  readonly enter: readonly string[];
  readonly processor: Processor;
  readonly programs: ProgramFiles;
  /** The seccomp program of everything in this container. */
  readonly filter: Buffer;
  readonly lastCapability: number;
  /** A process whose view of processes the container shares, or the node. Default: one of its own. */
  readonly joins?: number | "node";
  /** Limits every process of the container, from before anything of the image runs. */
  readonly group: ContainerGroup | undefined;
  /** Most processes of its user, where there is no group. */
  readonly processes?: number;
}

const argumentsFd = 3;
const infoFd = 4;
const programFd = 5;
const startedFd = 6;
const processesFd = 7;
const execProgramFd = 3;

export async function startContainer(
  spec: ContainerSpec,
  setting: ContainerSetting,
): Promise<ContainerHandle> {
  refuseNul(spec.id, [...spec.command, ...Object.entries(spec.env).flat(), spec.cwd]);
  refuseNul(
    spec.id,
    spec.mounts.flatMap(({ source, target }) => [source, target]),
  );
  const { tools, fifos, joins } = setting;
  const view: ContainerView = {
    ...setting.view,
    ...(joins === undefined ? {} : { processes: joins === "node" ? joins : processesFd }),
  };
  const stdout = await fifos.open();
  const stderr = spec.tty ? undefined : await fifos.open();
  const stdin = spec.stdin || spec.tty ? await fifos.openInput() : undefined;
  const sandbox = [
    ...(setting.group?.enter ?? []),
    ...[tools.nsenter, ...setting.enter, "--", tools.bwrap],
    ...["--args", String(argumentsFd), "--info-fd", String(infoFd), "--", `/proc/self/fd/${programFd}`],
  ];
  const [command = "", ...args] = spec.tty ? onTerminal(tools.script, sandbox) : sandbox;
  const program = addProgram(spec, setting, {
    ...{ command: spec.command, env: spec.env, tells: startedFd },
    ...(!spec.unmasked && !playsAnotherUser(view.ids, spec.user) && { guards: view.kernelPaths }),
  });
  const joined = typeof joins === "number" ? [openSync(`/proc/${joins}/ns/pid`, "r")] : [];
  const child = spawn(command, args, {
    env: {},
    stdio: [
      stdin?.readFd ?? "ignore",
      stdout.writeFd,
      stderr?.writeFd ?? stdout.writeFd,
      "pipe",
      "pipe",
      program,
      "pipe",
      ...joined,
    ],
  });
  const exited = exitOf(child);
  const drained = Promise.all([drain(stdout, "stdout", spec), stderr && drain(stderr, "stderr", spec)]);
  stdout.releaseWriter();
  stderr?.releaseWriter();
  stdin?.releaseReader();
  for (const fd of [program, ...joined]) closeSync(fd);
  const pipes: readonly unknown[] = child.stdio;
  const feed = pipes[argumentsFd] as Writable;
  feed.on("error", () => undefined);
  feed.end(
    bubblewrapArguments(spec, view)
      .map((argument) => `${argument}\0`)
      .join(""),
  );
  const info = await readInfo(pipes[infoFd] as Readable);
  const pid = Number(/"child-pid": (\d+)/.exec(info)?.[1]);
  if (!Number.isInteger(pid)) {
    await exited;
    await drained;
    throw new NodeError("ContainerCannotRun", `the sandbox of ${spec.id} could not be started`);
  }
  await inPlace(pipes[startedFd] as Readable, exited);
  const processes = new ContainerProcesses(pid, joins === undefined ? "pid" : "mnt");
  return new SandboxContainer(spec, setting, {
    ...{ child, pid, processes, exited, drained },
    stdin: quiet(stdin?.writable),
  });
}

/**
 * Resolves once the container's root, its guards and its privileges are what they will be, or it has ended. The sandbox
 * tells its process id before that; who enters in between would find the node's root.
 */
async function inPlace(told: Readable, exited: Promise<unknown>): Promise<void> {
  await Promise.race([once(told, "data"), once(told, "close"), exited]).catch(() => undefined);
  told.destroy();
}

/** No program can be given such a text: it would end there, and the rest would be taken for something else. */
function refuseNul(id: string, values: readonly string[]): void {
  const bad = values.find((value) => value.includes("\0"));
  if (bad === undefined) return;
  throw new NodeError("ContainerConfig", `container ${id}: ${JSON.stringify(bad)} holds a NUL character`);
}

/** What turns a process that has entered the container's namespaces into one of the container. */
function addProgram(
  spec: ContainerSpec,
  { view, filter, lastCapability, processes, processor, programs }: ContainerSetting,
  how: {
    readonly command: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    readonly newSession?: boolean;
    readonly guards?: KernelPaths;
    readonly tells?: number;
  },
): number {
  const { cwd, user, capabilities } = spec;
  const confinement = {
    newSession: false,
    processes,
    ...how,
    cwd,
    user,
    capabilities,
    filter,
    ids: view.ids,
    lastCapability,
  };
  return programs.add(confinementProgram(confinement, processor));
}

interface Started {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly processes: ContainerProcesses;
  readonly exited: Promise<number>;
  readonly drained: Promise<unknown>;
  readonly stdin: Writable | undefined;
}

class SandboxContainer implements ContainerHandle {
  readonly id: string;
  readonly pid: number;
  readonly exited: Promise<ContainerExit>;
  readonly #spec: ContainerSpec;
  readonly #setting: ContainerSetting;
  readonly #child: ChildProcess;
  readonly #processes: ContainerProcesses;
  readonly stdin: Writable | undefined;
  #gone = false;

  constructor(spec: ContainerSpec, setting: ContainerSetting, started: Started) {
    this.id = spec.id;
    this.pid = started.pid;
    this.stdin = started.stdin;
    this.#spec = spec;
    this.#setting = setting;
    this.#child = started.child;
    this.#processes = started.processes;
    this.exited = started.exited.then(async (code) => {
      this.#gone = true;
      started.stdin?.destroy();
      // Where it had no view of processes of its own, the end of the first does not end the others.
      if (setting.joins !== undefined) await this.#killAll();
      await this.#processes.close();
      await started.drained;
      const oomKilled = (await setting.group?.wasOomKilled()) ?? false;
      await setting.group?.remove();
      return { code, oomKilled };
    });
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#gone) return;
    if (signal === "SIGKILL" && this.#setting.joins !== undefined) void this.#killAll();
    try {
      process.kill(this.pid, signal);
    } catch {
      // It ended between our look and our call.
    }
  }

  async freeze(frozen: boolean): Promise<void> {
    // The first process last when stopping: nothing it starts meanwhile escapes the second look.
    for (let round = 0; round < (frozen ? 2 : 1); round++)
      await this.#processes.look((pids) => signalAll(pids.toReversed(), frozen ? "SIGSTOP" : "SIGCONT"));
  }

  async usage(): Promise<ContainerUsage> {
    return await this.#processes.look(usageOf);
  }

  async limit(limits: ContainerLimits): Promise<void> {
    await this.#setting.group?.limit(limits);
  }

  async #killAll(): Promise<void> {
    await this.#processes.look((pids) => signalAll(pids, "SIGKILL"));
  }

  resize(size: TerminalSize): Promise<void> {
    return resizeTerminal(this.#child.pid ?? 0, size);
  }

  async exec(request: ExecRequest): Promise<ExecSession> {
    if (this.#gone) throw new NodeError("NotFound", `container ${this.id} is not running`);
    refuseNul(this.id, request.command);
    const { tools, fifos, view, group } = this.#setting;
    const playing = playsAnotherUser(view.ids, this.#spec.user);
    const inside = [
      ...(group?.enter ?? []),
      ...[
        tools.nsenter,
        "--target",
        String(this.pid),
        "--mount",
        "--pid",
        "--net",
        "--ipc",
        "--uts",
        "--cgroup",
      ],
      ...(playing ? ["--user", "--preserve-credentials"] : []),
      ...["--", `/proc/self/fd/${execProgramFd}`],
    ];
    const stdout = await fifos.open();
    const stderr = request.tty ? undefined : await fifos.open();
    const stdin = request.stdin || request.tty ? await fifos.openInput() : undefined;
    const [command = "", ...args] = request.tty ? onTerminal(tools.script, inside) : inside;
    const program = addProgram(this.#spec, this.#setting, {
      command: request.command,
      env: { ...(request.tty ? { TERM: "xterm" } : {}), ...this.#spec.env },
      newSession: !request.tty,
    });
    // Nothing of the container's environment: what enters it is a program of the machine until it has entered.
    const child = spawn(command, args, {
      env: {},
      stdio: [stdin?.readFd ?? "ignore", stdout.writeFd, stderr?.writeFd ?? stdout.writeFd, program],
    });
    const exited = exitOf(child);
    closeSync(program);
    stdout.releaseWriter();
    stderr?.releaseWriter();
    stdin?.releaseReader();
    const output = onlyData(stdout);
    const errors = stderr && onlyData(stderr);
    // Something the command left running in the background may hold the pipe open; the session ends regardless.
    void exited.then(() => {
      void closeWhenIdle(stdout, output);
      if (stderr !== undefined && errors !== undefined) void closeWhenIdle(stderr, errors);
    });
    void exited.then(() => stdin?.writable.destroy());
    return {
      stdin: quiet(stdin?.writable),
      stdout: output,
      stderr: errors,
      exited,
      resize: (size) => resizeTerminal(child.pid ?? 0, size),
      kill: () => void killTree(child),
    };
  }
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended between our look and our call.
    }
  }
}

/** A reader that has gone is no failure of the writer. */
function quiet(stream: Writable | undefined): Writable | undefined {
  return stream?.on("error", () => undefined);
}

async function killTree(child: ChildProcess): Promise<void> {
  signalAll(child.pid === undefined ? [] : [...(await childrenOf(child.pid)), child.pid], "SIGKILL");
}

/** As a shell reports it. */
function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once("error", () => resolve(127));
    child.once("exit", (code, signal) =>
      resolve(signal === null ? (code ?? 0) : 128 + (os.signals[signal] ?? 0)),
    );
  });
}

async function drain(pipe: OutputPipe, stream: "stdout" | "stderr", spec: ContainerSpec): Promise<void> {
  const { readable } = pipe;
  readable.on("data", (chunk: Buffer) => {
    spec.onOutput(stream, chunk);
    // One piece per turn: a container that shouts must not keep the node from its other work.
    readable.pause();
    setImmediate(() => readable.resume());
  });
  await new Promise<void>((resolve) => pipe.readable.once("close", resolve).on("error", () => undefined));
}
