/** How a process becomes one of a container: it gives up everything the container does not have, then runs its command. */
import type { IdMode } from "@keelson/machine";
import { type Pointer, text, texts } from "./call-program.ts";
import { capabilityNumbers } from "./capabilities.ts";
import type { ContainerUser } from "./container-runtime.ts";
import { guardCalls } from "./guards.ts";
import type { KernelPaths } from "./kernel-paths.ts";
import { type NamedCall, namedCallProgram } from "./named-call.ts";
import type { Processor } from "./syscalls.ts";

export interface Confinement {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly user: ContainerUser;
  /** Of root in the container, without the `CAP_` prefix; any other user has none. */
  readonly capabilities: readonly string[];
  /** A seccomp program in the kernel's form. */
  readonly filter: Buffer;
  readonly ids: IdMode;
  /** Of the kernel's own files, what to put out of the container's reach first. */
  readonly guards?: KernelPaths;
  /** A file descriptor that gets a byte when nothing is left to do but to run the command. */
  readonly tells?: number;
  /** Leaves the session, and with it the terminal, of the process that started the node. */
  readonly newSession: boolean;
  /** Most processes of its user, where no control group counts those of its pod. */
  readonly processes?: number;
  /** The highest number of a capability that this kernel knows. */
  readonly lastCapability: number;
}

const prctl = { dropFromBounding: 24, noNewPrivileges: 38, ambient: 47, clearAll: 4 };
const seccomp = { setFilter: 1, allowSpeculation: 4 };
const signals = { childEnded: 17, ignore: 1, maskBytes: 8 };
const capabilityVersion = 0x2008_0522;
const defaultMask = 0o022;
const processLimit = 6;
const standardError = 2;

/** The executable that does it. Runs with the container's root in place, and reads nothing of it before the command. */
export function confinementProgram(confinement: Confinement, processor: Processor): Buffer {
  return namedCallProgram(confinementCalls(confinement), processor);
}

/** One that gives everything up, waits for ever, and leaves no orphan unburied. */
export function pauseProgram(
  { filter, ids, lastCapability }: Pick<Confinement, "filter" | "ids" | "lastCapability">,
  processor: Processor,
): Buffer {
  const user = { uid: 0, gid: 0, groups: [] };
  const { childEnded, ignore, maskBytes } = signals;
  const action = longs([ignore, 0, 0, 0]);
  return namedCallProgram(
    [
      closeFiles(0),
      ...identity({ user, capabilities: [], ids, lastCapability }),
      ...restriction(filter),
      {
        name: "rt_sigaction",
        args: [childEnded, { bytes: action }, 0, maskBytes],
        failure: "cannot ignore a signal",
      },
      { name: "ppoll", args: [0, 0, 0, 0, maskBytes], again: true },
    ],
    processor,
  );
}

export function confinementCalls(confinement: Confinement): NamedCall[] {
  const { command, cwd, filter, guards, newSession, processes, tells } = confinement;
  const [program = ""] = command;
  return [
    // This program among them, and whatever was open where the node was started.
    ...(tells === undefined
      ? [closeFiles(standardError + 1)]
      : [closeFiles(standardError + 1, tells - 1), closeFiles(tells + 1)]),
    ...(newSession ? [{ name: "setsid", args: [], failure: "cannot leave the session" }] : []),
    { name: "umask", args: [defaultMask] },
    ...(guards === undefined ? [] : guardCalls(guards)),
    { name: "chdir", args: [text(cwd)], failure: `cannot change to the working directory ${cwd}` },
    ...identity(confinement),
    ...(processes === undefined
      ? []
      : [
          {
            name: "prlimit64",
            args: [0, processLimit, { bytes: longs([processes, processes]) }, 0],
            failure: "cannot limit the number of processes",
          },
        ]),
    ...(tells === undefined ? [] : tell(tells)),
    ...restriction(filter),
    ...execution(confinement),
    failureMessage(`exec: ${JSON.stringify(program)}: not found or not executable\n`),
    { name: "exit_group", args: [0], takesStatus: true },
  ];
}

function closeFiles(first: number, last = 0xffff_ffff): NamedCall {
  return { name: "close_range", args: [first, last, 0], failure: "cannot close files" };
}

function tell(fd: number): NamedCall[] {
  const failure = "cannot tell the node";
  return [
    { name: "write", args: [fd, text("+"), 1], failure },
    { name: "close", args: [fd], failure },
  ];
}

/** From here on nothing can be gained by running a program, and calls are filtered. */
function restriction(filter: Buffer): NamedCall[] {
  return [
    {
      name: "prctl",
      args: [prctl.noNewPrivileges, 1, 0, 0, 0],
      failure: "cannot give up gaining privileges",
    },
    {
      name: "seccomp",
      args: [seccomp.setFilter, seccomp.allowSpeculation, filterPointer(filter)],
      failure: "cannot filter system calls",
    },
  ];
}

/** Capabilities, groups and user. Only root has capabilities, and only within the bounding set can it ever have any. */
function identity({
  user,
  capabilities,
  ids,
  lastCapability,
}: Pick<Confinement, "user" | "capabilities" | "ids" | "lastCapability">): NamedCall[] {
  const kept = new Set(capabilityNumbers(capabilities));
  const dropped = Array.from({ length: lastCapability + 1 }, (_, number) => number).filter(
    (number) => !kept.has(number),
  );
  const isRoot = user.uid === 0;
  const { uid, gid, groups } = user;
  return [
    // With a single id, others than root enter a namespace where they have nothing to drop, nor the right to.
    ...(ids === "single" && !isRoot
      ? []
      : dropped.map((number) => ({
          name: "prctl",
          args: [prctl.dropFromBounding, number, 0, 0, 0],
          failure: `cannot drop capability ${number}`,
        }))),
    ...(ids === "single"
      ? []
      : [
          {
            name: "setgroups",
            args: [groups.length, { bytes: words(groups) }],
            failure: "cannot take on the groups",
          },
          { name: "setresgid", args: [gid, gid, gid], failure: `cannot take on group ${gid}` },
          { name: "setresuid", args: [uid, uid, uid], failure: `cannot take on user ${uid}` },
        ]),
    {
      name: "prctl",
      args: [prctl.ambient, prctl.clearAll, 0, 0, 0],
      failure: "cannot clear the ambient capabilities",
    },
    {
      name: "capset",
      args: [{ bytes: words([capabilityVersion, 0]) }, { bytes: capabilitySets(isRoot ? [...kept] : []) }],
      failure: "cannot set the capabilities",
    },
  ];
}

/** One attempt for each place the command may be in, as a shell looks for it. */
function execution({ command, env }: Confinement): NamedCall[] {
  const [program = ""] = command;
  const paths = program.includes("/")
    ? [program]
    : (env.PATH ?? "").split(":").map((directory) => `${directory || "."}/${program}`);
  const argv = texts(command);
  const environ = texts(Object.entries(env).map(([name, value]) => `${name}=${value}`));
  return paths.map((path) => ({ name: "execve", args: [text(path), argv, environ], otherwise: "next" }));
}

function failureMessage(message: string): NamedCall {
  const bytes = Buffer.from(message);
  return { name: "write", args: [standardError, { bytes }, bytes.length], otherwise: "next" };
}

/** Effective, permitted and inheritable, for the lower 32 capabilities and for the others. */
function capabilitySets(numbers: readonly number[]): Buffer {
  const half = (from: number) =>
    numbers
      .filter((number) => number >= from && number < from + 32)
      .reduce((mask, number) => (mask | (1 << (number - from))) >>> 0, 0);
  return words([half(0), half(0), 0, half(32), half(32), 0]);
}

/** `struct sock_fprog`. */
function filterPointer(filter: Buffer): Pointer {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt16LE(filter.length / 8, 0);
  return { bytes, pointers: new Map([[8, { bytes: filter }]]) };
}

function words(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value >>> 0, 4 * index);
  return bytes;
}

function longs(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(8 * values.length);
  for (const [index, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value), 8 * index);
  return bytes;
}
