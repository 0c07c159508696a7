/**
 * Programs that make system calls from a table, as executable files that need nothing but the kernel.
 *
 * A process that enters a container has the node's privileges until it gives them up. Whatever it runs until then must
 * not come from the container: no file, library, link or variable of it. No tool of the machine works without those
 * once it is inside, and Node cannot make these calls itself. So the last step before a container's own program is a
 * file that is opened outside and holds everything it needs: the few instructions below, and the calls to make.
 */
import type { Processor } from "./syscalls.ts";

/** Where in the program something is that a call points to, with what it points to itself. */
export interface Pointer {
  readonly bytes: Buffer;
  /** Offset in `bytes` → what the address there is of. */
  readonly pointers?: ReadonlyMap<number, Pointer>;
}

export interface SystemCall {
  readonly number: number;
  /** At most six. */
  readonly args: readonly (number | bigint | Pointer)[];
  /**
   * What follows a failure: the end with `failure` on standard error and 125, or the next call, which is how several
   * places are tried; `127` and `126` as in a shell are kept for the end.
   */
  readonly otherwise?: "end" | "next";
  /** Made again for ever. */
  readonly again?: boolean;
  /** Its first argument is 127, or 126 when something that was tried was there and could not be run. */
  readonly takesStatus?: boolean;
  readonly failure?: string;
}

const origin = 0x40_0000;
const headerBytes = 64 + 56;
const recordBytes = 64;
const flag = { next: 1, again: 2, takesStatus: 4 };

/**
 * One record per call: its number with the flags above it, six arguments, and where the words for its failure are,
 * before which stands their length. Registers: the record, its flags, and the status.
 */
const instructions: Readonly<Record<Processor, { readonly machine: number; readonly code: string }>> = {
  x64: {
    machine: 62,
    code: `
      488d1d79000000  lea rbx, [table]
      41bd7f000000    mov r13d, 127
      4c8b23          next: mov r12, [rbx]
      4489e0          mov eax, r12d
      49c1ec20        shr r12, 32
      488b7b08        mov rdi, [rbx + 8]
      488b7310        mov rsi, [rbx + 16]
      488b5318        mov rdx, [rbx + 24]
      4c8b5320        mov r10, [rbx + 32]
      4c8b4328        mov r8, [rbx + 40]
      4c8b4b30        mov r9, [rbx + 48]
      41f6c404        test r12b, takesStatus
      490f45fd        cmovnz rdi, r13
      0f05            syscall
      41f6c402        test r12b, again
      75ce            jnz next
      4885c0          test rax, rax
      7916            jns advance
      41f6c401        test r12b, next
      7416            jz fail
      83f8fe          cmp eax, -ENOENT
      740b            je advance
      83f8ec          cmp eax, -ENOTDIR
      7406            je advance
      41bd7e000000    mov r13d, 126
      4883c340        advance: add rbx, 64
      ebad            jmp next
      b801000000      fail: mov eax, write
      bf02000000      mov edi, 2
      488b7338        mov rsi, [rbx + 56]
      488b56f8        mov rdx, [rsi - 8]
      0f05            syscall
      b8e7000000      mov eax, exit_group
      bf7d000000      mov edi, 125
      0f05            syscall`,
  },
  arm64: {
    machine: 183,
    code: `
      d3030010  adr x19, table
      f40f8052  mov w20, 127
      680240a9  next: ldp x8, x0, [x19]
      15fd60d3  lsr x21, x8, 32
      e803082a  mov w8, w8
      610a41a9  ldp x1, x2, [x19, 16]
      631242a9  ldp x3, x4, [x19, 32]
      651a40f9  ldr x5, [x19, 48]
      55001036  tbz w21, takesStatus, call
      e003142a  mov w0, w20
      010000d4  call: svc 0
      f5fe0f37  tbnz w21, again, next
      e000f8b6  tbz x0, 63, advance
      15010036  tbz w21, next, fail
      1f080031  cmn w0, ENOENT
      80000054  b.eq advance
      1f500031  cmn w0, ENOTDIR
      40000054  b.eq advance
      d40f8052  mov w20, 126
      73020191  advance: add x19, x19, 64
      eeffff17  b next
      08088052  fail: mov w8, write
      40008052  mov w0, 2
      611e40f9  ldr x1, [x19, 56]
      22805ff8  ldur x2, [x1, -8]
      010000d4  svc 0
      c80b8052  mov w8, exit_group
      a00f8052  mov w0, 125
      010000d4  svc 0
      1f2003d5  nop`,
  },
};

/** An executable file without sections: one segment, readable and executable, that is never written to. */
export function callProgram(calls: readonly SystemCall[], processor: Processor): Buffer {
  const { machine, code } = instructions[processor];
  const text = Buffer.from(
    code
      .trim()
      .split("\n")
      .map((line) => line.trim().split(" ", 1)[0])
      .join(""),
    "hex",
  );
  const data = new Data(origin + headerBytes + text.length + calls.length * recordBytes);
  const table = Buffer.concat(calls.map((call) => record(call, data)));
  const body = Buffer.concat([text, table, data.bytes()]);
  return Buffer.concat([header(machine, headerBytes + body.length), body]);
}

/** Text as C has it. */
export function text(value: string): Pointer {
  return { bytes: Buffer.from(`${value}\0`) };
}

/** Texts as `argv` and `environ` have them. */
export function texts(values: readonly string[]): Pointer {
  return {
    bytes: Buffer.alloc(8 * (values.length + 1)),
    pointers: new Map(values.map((value, index) => [8 * index, text(value)])),
  };
}

function record({ number, args, otherwise, again, takesStatus, failure }: SystemCall, data: Data): Buffer {
  const bytes = Buffer.alloc(recordBytes);
  bytes.writeUInt32LE(number, 0);
  const flags =
    (otherwise === "next" ? flag.next : 0) | (again ? flag.again : 0) | (takesStatus ? flag.takesStatus : 0);
  bytes.writeUInt32LE(flags, 4);
  for (const [index, arg] of args.entries()) {
    const value = typeof arg === "object" ? data.place(arg) : arg;
    bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 8 * (index + 1));
  }
  const words = Buffer.from(`${failure ?? "a system call failed"}\n`);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(words.length));
  bytes.writeBigUInt64LE(BigInt(data.place({ bytes: Buffer.concat([length, words]) }) + 8), 56);
  return bytes;
}

/** What calls point to, one after the other behind the table. */
class Data {
  readonly #parts: Buffer[] = [];
  readonly #placed = new Map<Pointer, number>();
  #next: number;

  constructor(address: number) {
    this.#next = address;
  }

  /** The address it gets; the same thing is placed once. */
  place(pointer: Pointer): number {
    const known = this.#placed.get(pointer);
    if (known !== undefined) return known;
    const bytes = Buffer.alloc(Math.ceil(pointer.bytes.length / 8) * 8);
    pointer.bytes.copy(bytes);
    for (const [offset, target] of pointer.pointers ?? [])
      bytes.writeBigUInt64LE(BigInt(this.place(target)), offset);
    const address = this.#next;
    this.#next += bytes.length;
    this.#parts.push(bytes);
    this.#placed.set(pointer, address);
    return address;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/** ELF header and program header. */
function header(machine: number, size: number): Buffer {
  const bytes = Buffer.alloc(headerBytes);
  // 64 bits, little endian, version 1.
  bytes.write("\x7fELF\x02\x01\x01", 0, "latin1");
  const executable = 2;
  bytes.writeUInt16LE(executable, 16);
  bytes.writeUInt16LE(machine, 18);
  bytes.writeUInt32LE(1, 20);
  bytes.writeBigUInt64LE(BigInt(origin + headerBytes), 24);
  bytes.writeBigUInt64LE(64n, 32);
  bytes.writeUInt16LE(64, 52);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(1, 56);
  const loaded = 1;
  bytes.writeUInt32LE(loaded, 64);
  const readAndExecute = 5;
  bytes.writeUInt32LE(readAndExecute, 68);
  bytes.writeBigUInt64LE(BigInt(origin), 80);
  bytes.writeBigUInt64LE(BigInt(origin), 88);
  bytes.writeBigUInt64LE(BigInt(size), 96);
  bytes.writeBigUInt64LE(BigInt(size), 104);
  bytes.writeBigUInt64LE(0x1_0000n, 112);
  return bytes;
}
