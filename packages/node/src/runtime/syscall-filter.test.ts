import { describe, expect, test } from "vitest";
import { syscallFilter } from "./syscall-filter.ts";

/** A tiny interpreter of the few instructions the program uses. */
function run(program: Buffer, call: { arch: number; nr: number; args?: number[] }): number {
  const data = Buffer.alloc(64);
  data.writeInt32LE(call.nr, 0);
  data.writeUInt32LE(call.arch, 4);
  for (const [index, argument] of (call.args ?? []).entries()) data.writeUInt32LE(argument, 16 + index * 8);
  let accumulator = 0;
  for (let at = 0; ; at++) {
    const code = program.readUInt16LE(at * 8);
    const value = program.readUInt32LE(at * 8 + 4);
    if (code === 0x20) accumulator = data.readUInt32LE(value);
    else if (code === 0x06) return value;
    else if (accumulator === value) at += program.readUInt8(at * 8 + 2);
  }
}

const arch = 0xc000003e;
const allow = 0x7fff0000;
const program = (pretendIds: boolean) => syscallFilter({ pretendIds }, "x64");

describe("the system call filter", () => {
  test("ordinary calls pass", () => expect(run(program(true), { arch, nr: 0 })).toBe(allow));

  test("changes of owner are pretended only where asked", () => {
    expect(run(program(true), { arch, nr: 92 })).toBe(0x00050000);
    expect(run(program(true), { arch, nr: 260 })).toBe(0x00050000);
    expect(run(program(false), { arch, nr: 92 })).toBe(allow);
  });

  test("splicing into standard output is refused, elsewhere it passes", () => {
    expect(run(program(false), { arch, nr: 40, args: [1, 0] })).toBe(0x00050016);
    expect(run(program(false), { arch, nr: 40, args: [7, 0] })).toBe(allow);
    expect(run(program(false), { arch, nr: 275, args: [0, 0, 2] })).toBe(0x00050016);
    expect(run(program(false), { arch, nr: 275, args: [1, 0, 9] })).toBe(allow);
  });

  test("calls of another architecture pass", () =>
    expect(run(program(true), { arch: 1, nr: 92 })).toBe(allow));
});
