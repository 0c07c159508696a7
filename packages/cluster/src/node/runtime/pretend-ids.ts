/**
 * A seccomp program that answers "done" to changes of owner and identity without doing them.
 *
 * With a single user id nothing can change owner, and servers that start as root and step down (nginx, redis,
 * start scripts that chown) would fail. There they stay the one user there is and go on.
 */

const architectures: Readonly<Record<string, { audit: number; calls: readonly number[] }>> = {
  // chown fchown lchown setuid setgid setreuid setregid setgroups setresuid setresgid setfsuid setfsgid fchownat
  x64: { audit: 0xc000003e, calls: [92, 93, 94, 105, 106, 113, 114, 116, 117, 119, 122, 123, 260] },
  // fchownat fchown setregid setgid setreuid setuid setresuid setresgid setfsuid setfsgid setgroups
  arm64: { audit: 0xc00000b7, calls: [54, 55, 143, 144, 145, 146, 147, 149, 151, 152, 159] },
};

const loadWord = 0x20;
const jumpIfEqual = 0x15;
const returnValue = 0x06;
const allow = 0x7fff0000;
const errno0 = 0x00050000;
const numberOffset = 0;
const architectureOffset = 4;

/** The program in the kernel's form, or undefined on a processor we have no table for. */
export function pretendIdsProgram(processor: string = process.arch): Buffer | undefined {
  const table = architectures[processor];
  if (table === undefined) return undefined;
  const { audit, calls } = table;
  const instructions = [
    instruction(loadWord, 0, 0, architectureOffset),
    instruction(jumpIfEqual, 0, calls.length + 1, audit),
    instruction(loadWord, 0, 0, numberOffset),
    ...calls.map((call, index) => instruction(jumpIfEqual, calls.length - index, 0, call)),
    instruction(returnValue, 0, 0, allow),
    instruction(returnValue, 0, 0, errno0),
  ];
  return Buffer.concat(instructions);
}

/** `struct sock_filter`. */
function instruction(code: number, whenTrue: number, whenFalse: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(whenTrue, 2);
  bytes.writeUInt8(whenFalse, 3);
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
