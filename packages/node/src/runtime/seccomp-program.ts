/** Turns rules about system calls into the program that the kernel runs before each of them. */
import type { Processor } from "./syscalls.ts";

export type SyscallAction =
  | { readonly kind: "allow" | "log" | "kill-process" | "kill-thread" | "trap" }
  /** The call is not made and returns this; 0 means success. */
  | { readonly kind: "errno"; readonly errno: number };

/** A condition on one argument, 64 bits wide. */
export interface ArgumentTest {
  readonly index: number;
  /** `masked` compares what `mask` leaves of the argument. */
  readonly is: "==" | "!=" | "<" | "<=" | ">" | ">=" | "masked";
  readonly value: bigint;
  readonly mask?: bigint;
}

/** The action for a call all of whose tests hold. */
export interface SyscallRule {
  readonly tests: readonly ArgumentTest[];
  readonly action: SyscallAction;
}

export interface SyscallRules {
  /** Per call number: the first rule that fits counts. */
  readonly rules: ReadonlyMap<number, readonly SyscallRule[]>;
  /** For calls without a rule that fits. */
  readonly otherwise: SyscallAction;
  /** For numbers above this one, which are newer than we are. */
  readonly lastKnown: number;
}

const audit: Readonly<Record<Processor, number>> = { x64: 0xc000_003e, arm64: 0xc000_00b7 };
/** A second set of calls that x64 kernels have, with this added to their numbers. */
const otherCalls = 0x4000_0000;
const unknownCall: SyscallAction = { kind: "errno", errno: 38 };
const longestJump = 255;
const mostInstructions = 4096;

const op = {
  load: 0x20,
  and: 0x54,
  jump: 0x05,
  equal: 0x15,
  greater: 0x25,
  greaterOrEqual: 0x35,
  answer: 0x06,
};
const numberOffset = 0;
const architectureOffset = 4;

interface Instruction {
  readonly op: number;
  readonly value: number;
  /** How many instructions to skip, when the comparison holds and when it does not. */
  readonly yes?: number;
  readonly no?: number;
}

/** In the kernel's form. A call in the manner of another processor ends the process: nothing here speaks of it. */
export function seccompProgram(rules: SyscallRules, processor: Processor): Buffer {
  const program = [
    { op: op.load, value: architectureOffset },
    { op: op.equal, value: audit[processor], yes: 1, no: 0 },
    answer({ kind: "kill-process" }),
    { op: op.load, value: numberOffset },
    ...choose(segments(rules)),
  ];
  if (program.length > mostInstructions) {
    throw new RangeError(
      `the filter has ${program.length} instructions; the kernel takes ${mostInstructions}`,
    );
  }
  return Buffer.concat(program.map(encode));
}

/** What is done from a call's number on, up to the next segment. */
interface Segment {
  readonly from: number;
  readonly code: readonly Instruction[];
}

function segments({ rules, otherwise, lastKnown }: SyscallRules): Segment[] {
  const all: Segment[] = [];
  const add = (from: number, code: readonly Instruction[]) => {
    const same =
      all.at(-1)?.code.length === 1 && code.length === 1 && all.at(-1)?.code[0]?.value === code[0]?.value;
    if (!same) all.push({ from, code });
  };
  for (let number = 0; number <= lastKnown; number++) add(number, decide(rules.get(number) ?? [], otherwise));
  add(lastKnown + 1, [answer(unknownCall)]);
  add(otherCalls, [answer(unknownCall)]);
  return all;
}

/** A binary search by number: a long list costs every call of a container. */
function choose(all: readonly Segment[]): Instruction[] {
  if (all.length <= 1) return [...(all[0]?.code ?? [])];
  const middle = all.length >> 1;
  const lower = choose(all.slice(0, middle));
  const upper = choose(all.slice(middle));
  const value = all[middle]?.from ?? 0;
  const split =
    lower.length <= longestJump
      ? [{ op: op.greaterOrEqual, value, yes: lower.length, no: 0 }]
      : [
          { op: op.greaterOrEqual, value, yes: 0, no: 1 },
          { op: op.jump, value: lower.length },
        ];
  return [...split, ...lower, ...upper];
}

function decide(rules: readonly SyscallRule[], otherwise: SyscallAction): Instruction[] {
  const code: Instruction[] = [];
  for (const { tests, action } of rules) {
    let rule = [answer(action)];
    for (const test of tests.toReversed()) rule = [...compare(test, rule.length), ...rule];
    code.push(...rule);
    if (tests.length === 0) return code;
  }
  return [...code, answer(otherwise)];
}

/** Goes on behind itself when the test holds, else `skip` instructions further. The upper half decides first. */
function compare({ index, is, value, mask = ~0n }: ArgumentTest, skip: number): Instruction[] {
  const low = 16 + index * 8;
  const half = (wide: bigint, upper: boolean) => Number((wide >> (upper ? 32n : 0n)) & 0xffff_ffffn);
  const load = (upper: boolean) => ({ op: op.load, value: upper ? low + 4 : low });
  const test = (kind: number, upper: boolean, yes: number, no: number) => ({
    op: kind,
    value: half(value, upper),
    yes: bounded(yes),
    no: bounded(no),
  });
  const masked = (upper: boolean) => ({ op: op.and, value: half(mask, upper) });
  switch (is) {
    case "==":
      return [load(true), test(op.equal, true, 0, 2 + skip), load(false), test(op.equal, false, 0, skip)];
    case "!=":
      return [load(true), test(op.equal, true, 0, 2), load(false), test(op.equal, false, skip, 0)];
    case "masked":
      return [
        ...[load(true), masked(true), test(op.equal, true, 0, 3 + skip)],
        ...[load(false), masked(false), test(op.equal, false, 0, skip)],
      ];
    case ">":
    case ">=":
      return [
        ...[load(true), test(op.greater, true, 3, 0), test(op.equal, true, 0, 2 + skip), load(false)],
        test(is === ">" ? op.greater : op.greaterOrEqual, false, 0, skip),
      ];
    case "<":
    case "<=":
      return [
        ...[load(true), test(op.greater, true, 3 + skip, 0), test(op.equal, true, 0, 2), load(false)],
        test(is === "<" ? op.greaterOrEqual : op.greater, false, skip, 0),
      ];
  }
}

function bounded(jump: number): number {
  if (jump > longestJump) throw new RangeError("a rule has more tests than the kernel can jump over");
  return jump;
}

function answer(action: SyscallAction): Instruction {
  const answers = {
    allow: 0x7fff_0000,
    log: 0x7ffc_0000,
    trap: 0x0003_0000,
    "kill-process": 0x8000_0000,
    "kill-thread": 0,
  };
  const value = action.kind === "errno" ? 0x0005_0000 | (action.errno & 0xfff) : answers[action.kind];
  return { op: op.answer, value };
}

/** `struct sock_filter`. */
function encode({ op: code, value, yes = 0, no = 0 }: Instruction): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(yes, 2);
  bytes.writeUInt8(no, 3);
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
