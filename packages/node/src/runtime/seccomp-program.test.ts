import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answers, audit, decide } from "../../test/seccomp-interpreter.ts";
import { type ArgumentTest, type SyscallRules, seccompProgram } from "./seccomp-program.ts";

const allow = { kind: "allow" } as const;
const refuse = { kind: "errno", errno: 1 } as const;
const rules = (over: Partial<SyscallRules>): SyscallRules => ({
  rules: new Map(),
  otherwise: refuse,
  lastKnown: 460,
  ...over,
});

describe("a program of rules about system calls", () => {
  test("finds the rule of every number, whatever the others are", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(460), { maxLength: 200 }), (allowed) => {
        const byNumber = new Map(allowed.map((number) => [number, [{ tests: [], action: allow }]]));
        const program = seccompProgram(rules({ rules: byNumber }), "x64");
        for (let number = 0; number <= 460; number++) {
          const expected = byNumber.has(number) ? answers.allow : answers.errno(1);
          expect(decide(program, { number })).toBe(expected);
        }
      }),
      { numRuns: 30 },
    );
  });

  const holds: Record<ArgumentTest["is"], (argument: bigint, value: bigint, mask: bigint) => boolean> = {
    "==": (argument, value) => argument === value,
    "!=": (argument, value) => argument !== value,
    "<": (argument, value) => argument < value,
    "<=": (argument, value) => argument <= value,
    ">": (argument, value) => argument > value,
    ">=": (argument, value) => argument >= value,
    masked: (argument, value, mask) => (argument & mask) === value,
  };
  const word = fc.oneof(fc.constantFrom(0n, 1n, 0xffff_ffffn), fc.bigInt(0n, 0xffff_ffffn));
  const wide = fc.tuple(word, word).map(([high, low]) => (high << 32n) | low);
  const argumentTest = fc.record<ArgumentTest>({
    index: fc.nat(5),
    is: fc.constantFrom("==", "!=", "<", "<=", ">", ">=", "masked"),
    value: wide,
    mask: wide,
  });

  test("compares arguments as numbers of 64 bits, and all tests of a rule must hold", () => {
    fc.assert(
      fc.property(
        fc.array(argumentTest, { minLength: 1, maxLength: 4 }),
        fc.array(wide, { minLength: 6, maxLength: 6 }),
        fc.boolean(),
        (tests, random, fitting) => {
          // Random numbers hardly ever meet a test: half of the time they are its own.
          const args = random.map((value, index) =>
            fitting ? (tests.find((each) => each.index === index)?.value ?? value) : value,
          );
          const program = seccompProgram(
            rules({ rules: new Map([[7, [{ tests, action: allow }]]]) }),
            "arm64",
          );
          const fits = tests.every(({ index, is, value, mask = 0n }) =>
            holds[is](args[index] ?? 0n, value, mask),
          );
          const answer = decide(program, { number: 7, args, architecture: audit.arm64 });
          expect(answer).toBe(fits ? answers.allow : answers.errno(1));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test("the first rule that fits counts", () => {
    const first = {
      tests: [{ index: 0, is: "==", value: 1n }],
      action: { kind: "errno", errno: 22 },
    } as const;
    const program = seccompProgram(
      rules({ rules: new Map([[3, [first, { tests: [], action: allow }]]]) }),
      "x64",
    );
    expect(decide(program, { number: 3, args: [1n] })).toBe(answers.errno(22));
    expect(decide(program, { number: 3, args: [2n] })).toBe(answers.allow);
  });

  test("calls that are newer than the table do not exist", () => {
    const program = seccompProgram(rules({ otherwise: allow }), "x64");
    expect(decide(program, { number: 461 })).toBe(answers.errno(38));
    expect(decide(program, { number: 0x7fff_ffff })).toBe(answers.errno(38));
  });

  test("calls in the manner of another processor end the process", () => {
    const program = seccompProgram(rules({ otherwise: allow }), "x64");
    const i386 = 0x4000_0003;
    expect(decide(program, { number: 1, architecture: i386 })).toBe(answers.killProcess);
    expect(decide(program, { number: 0x4000_0000 + 1 })).toBe(answers.errno(38));
  });
});
