/** Runs a seccomp program as the kernel does, for tests. */

export const answers = {
  allow: 0x7fff_0000,
  killProcess: 0x8000_0000,
  errno: (number: number) => 0x0005_0000 | number,
};

export const audit = { x64: 0xc000_003e, arm64: 0xc000_00b7 };

interface Call {
  readonly number: number;
  readonly args?: readonly bigint[];
  readonly architecture?: number;
}

export function decide(program: Buffer, { number, args = [], architecture = audit.x64 }: Call): number {
  const data = Buffer.alloc(64);
  data.writeInt32LE(number | 0, 0);
  data.writeUInt32LE(architecture, 4);
  for (const [index, argument] of args.entries()) data.writeBigUInt64LE(argument, 16 + index * 8);
  let accumulator = 0;
  for (let at = 0; at < program.length / 8; at++) {
    const code = program.readUInt16LE(at * 8);
    const value = program.readUInt32LE(at * 8 + 4);
    const jump = (holds: boolean) => program.readUInt8(at * 8 + (holds ? 2 : 3));
    if (code === 0x20) accumulator = data.readUInt32LE(value);
    else if (code === 0x54) accumulator = (accumulator & value) >>> 0;
    else if (code === 0x06) return value;
    else if (code === 0x05) at += value;
    else if (code === 0x15) at += jump(accumulator === value);
    else if (code === 0x25) at += jump(accumulator > value);
    else if (code === 0x35) at += jump(accumulator >= value);
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error("the program has no end");
}
