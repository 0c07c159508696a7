/** System calls by name, and the program that makes them. */
import { callProgram, type SystemCall } from "./call-program.ts";
import { type Processor, syscallNumbers } from "./syscalls.ts";

export type NamedCall = Omit<SystemCall, "number"> & { readonly name: string };

/** An executable that makes these calls one after the other. */
export function namedCallProgram(named: readonly NamedCall[], processor: Processor): Buffer {
  const numbers = syscallNumbers(processor);
  const calls = named.map(({ name, ...call }): SystemCall => {
    const number = numbers.get(name);
    if (number === undefined) throw new Error(`${processor} has no system call ${name}`);
    return { ...call, number };
  });
  return callProgram(calls, processor);
}
