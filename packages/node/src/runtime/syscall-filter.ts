/**
 * The seccomp program of a container. It bends two things:
 *
 * - With a single user id nothing can change owner, and servers that start as root and step down (nginx, redis,
 *   start scripts that chown) would fail. There such calls are answered with "done", and the container goes on
 *   as the one user there is.
 * - Splicing a socket into standard output holds the pipe's lock for as long as the socket is silent, and who
 *   reads the pipe (we) would hang with it. Programs that are told "cannot" copy by hand instead.
 */

import type { Processor } from "./syscalls.ts";

interface Numbers {
  readonly audit: number;
  readonly identity: readonly number[];
  readonly sendfile: number;
  readonly splice: number;
}

const architectures: Readonly<Record<Processor, Numbers>> = {
  x64: {
    audit: 0xc000003e,
    // chown fchown lchown setuid setgid setreuid setregid setgroups setresuid setresgid setfsuid setfsgid fchownat
    identity: [92, 93, 94, 105, 106, 113, 114, 116, 117, 119, 122, 123, 260],
    sendfile: 40,
    splice: 275,
  },
  arm64: {
    audit: 0xc00000b7,
    // fchownat fchown setregid setgid setreuid setuid setresuid setresgid setfsuid setfsgid setgroups
    identity: [54, 55, 143, 144, 145, 146, 147, 149, 151, 152, 159],
    sendfile: 71,
    splice: 76,
  },
};

const loadWord = 0x20;
const jumpIfEqual = 0x15;
const returnValue = 0x06;
const allow = 0x7fff0000;
const done = 0x00050000;
const invalid = 0x00050000 | 22;
const numberOffset = 0;
const architectureOffset = 4;
const argumentOffset = (index: number) => 16 + index * 8;

type Step =
  | { readonly load: number }
  | { readonly equals: number; readonly goto: string }
  | { readonly answer: number }
  | { readonly label: string };

/** The program in the kernel's form. */
export function syscallFilter(options: { pretendIds: boolean }, processor: Processor): Buffer {
  const table = architectures[processor];
  const intoOutput = (name: string, argument: number): Step[] => [
    { label: name },
    { load: argumentOffset(argument) },
    { equals: 1, goto: "invalid" },
    { equals: 2, goto: "invalid" },
    { answer: allow },
  ];
  return assemble([
    { load: architectureOffset },
    { equals: table.audit, goto: "known" },
    { answer: allow },
    { label: "known" },
    { load: numberOffset },
    { equals: table.sendfile, goto: "sendfile" },
    { equals: table.splice, goto: "splice" },
    ...(options.pretendIds ? table.identity.map((equals) => ({ equals, goto: "done" })) : []),
    { answer: allow },
    ...intoOutput("sendfile", 0),
    ...intoOutput("splice", 2),
    { label: "invalid" },
    { answer: invalid },
    { label: "done" },
    { answer: done },
  ]);
}

function assemble(steps: readonly Step[]): Buffer {
  const places = new Map<string, number>();
  const code: Exclude<Step, { label: string }>[] = [];
  for (const step of steps) {
    if ("label" in step) places.set(step.label, code.length);
    else code.push(step);
  }
  return Buffer.concat(
    code.map((step, index) => {
      if ("load" in step) return instruction(loadWord, 0, step.load);
      if ("answer" in step) return instruction(returnValue, 0, step.answer);
      return instruction(jumpIfEqual, (places.get(step.goto) ?? 0) - index - 1, step.equals);
    }),
  );
}

/** `struct sock_filter`; a comparison that fails goes on with the next one. */
function instruction(code: number, jump: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(jump, 2);
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
