/** One line that says what is being done: overwritten on a terminal, printed once each elsewhere. */
import type { StricliProcess } from "@stricli/core";

export interface Progress {
  readonly show: (sentence: string) => void;
  readonly end: () => void;
}

export function progress(process: StricliProcess): Progress {
  const out = process.stderr as NodeJS.WriteStream;
  if (!out.isTTY) return { show: (sentence) => out.write(`${sentence}\n`), end: () => {} };
  return {
    show: (sentence) => out.write(`\r\x1b[K${sentence.slice(0, (out.columns ?? 80) - 1)}`),
    end: () => out.write("\r\x1b[K"),
  };
}
