/** What a provocation is: the smallest real call that fails with one code. */
import { mkdtempSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Throws the error, rejects with it or returns it. Where a code is never thrown but reported in a result, it returns
 * `reported(…)` with the text of that result.
 */
export type Provocation = () => unknown;

/** One provocation for each code: a code that is added does not compile until it has one. */
export type Provocations<Code extends string> = Readonly<Record<Code, Provocation>>;

export interface Provoked {
  readonly code: string;
  readonly message: string;
}

class Reported extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** What a result says instead of an error. */
export function reported(code: string, message: unknown): Error {
  return new Reported(code, String(message));
}

/** Runs a provocation to its error. */
export async function provoke(provocation: Provocation): Promise<Provoked> {
  let outcome: unknown;
  try {
    outcome = await provocation();
  } catch (error) {
    outcome = error;
  }
  if (outcome instanceof Error && "code" in outcome) {
    return { code: String(outcome.code), message: outcome.message };
  }
  throw new Error("nothing with a code was thrown", { cause: outcome });
}

const home = mkdtempSync(join(tmpdir(), "provoke-"));

/** A new directory, which `removeTemporary` takes away with all others. */
export async function temporary(): Promise<string> {
  return await mkdtemp(join(home, "in-"));
}

export async function removeTemporary(): Promise<void> {
  await rm(home, { recursive: true, force: true });
}
