/** Questions to a person at a terminal; anywhere else the default is the answer. */
import type { StricliProcess } from "@stricli/core";

/** One question: the answer must pass `check`, which throws in words. */
export interface Question {
  readonly about: string;
  readonly usual: string | undefined;
  readonly check: (text: string) => string;
}

export type Ask = (question: Question) => Promise<string>;

/** Asks at a terminal. With `yes`, or without a terminal, takes what is usual. */
export function asker(process: StricliProcess, yes: boolean): Ask {
  const { stdin } = globalThis.process;
  const out = process.stderr as NodeJS.WriteStream;
  if (yes || !stdin.isTTY || !out.isTTY) return async ({ usual, check }) => check(usual ?? "");
  return async ({ about, usual, check }) => {
    const { createInterface } = await import("node:readline/promises");
    const lines = createInterface({ input: stdin, output: out });
    try {
      for (;;) {
        const text = (await lines.question(`${about}${usual === undefined ? "" : ` (${usual})`}: `)).trim();
        try {
          return check(text === "" ? (usual ?? "") : text);
        } catch (error) {
          out.write(`${(error as Error).message}\n`);
        }
      }
    } finally {
      lines.close();
    }
  };
}
