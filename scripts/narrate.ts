/** Tells a story in a terminal: numbered steps with their time, details below, and how it ended. */
import { errorText } from "@keelson/core/internal";

/** For `commandLine`. */
export const exitOption = {
  exit: { help: "take the cluster down at the end (default: at a terminal it stays up until Ctrl-C)" },
} as const;

export interface Narrator {
  step<T>(title: string, run: () => Promise<T>): Promise<T>;
  /** Shown while the step runs, and gone with it. */
  progress(this: void, line: string): void;
  /** Stays below the step. */
  detail(this: void, line: string): void;
  fail(message: string): never;
  /** Ends the story before its end: what becomes of the step under way is not told any more. */
  interrupt(message: string): void;
  end(): void;
}

export function narrate(): Narrator {
  const start = performance.now();
  let count = 0;
  let details: string[] = [];
  let title = "";
  let interrupted = false;
  const narrator: Narrator = {
    async step(what, run) {
      count += 1;
      title = `${String(count).padStart(2)}. ${what}`;
      const began = performance.now();
      show(`${title} …`);
      try {
        const result = await run();
        if (interrupted) await forever();
        show("");
        console.log(`${title}  ${seconds(performance.now() - began)}`);
        return result;
      } catch (error) {
        if (interrupted) await forever();
        show("");
        console.log(title);
        return narrator.fail(errorText(error));
      } finally {
        for (const line of details) console.log(`      ${line}`);
        details = [];
      }
    },
    progress: (line) => {
      if (!interrupted) show(`${title} … ${line}`);
    },
    detail: (line) => {
      details.push(line);
      narrator.progress(line);
    },
    fail(message) {
      console.error(`\nThe demo failed: ${message}`);
      process.exit(1);
    },
    interrupt(message) {
      interrupted = true;
      show("");
      console.error(message);
    },
    end() {
      console.log(`\nAll of it was checked. ${seconds(performance.now() - start)} in all.`);
    },
  };
  return narrator;
}

/** A terminal sees a step while it runs, in one line that is written over; a log gets it once, when it is done. */
function show(line: string): void {
  const { stdout } = process;
  if (stdout.isTTY) stdout.write(`\r\x1b[K${line.slice(0, Math.max(0, stdout.columns - 1))}`);
}

function forever(): Promise<never> {
  return new Promise(() => {});
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
