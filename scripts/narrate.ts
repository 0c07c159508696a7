/** Tells a story in a terminal: numbered steps with their time, details below, and how it ended. */

export interface Narrator {
  step<T>(title: string, run: () => Promise<T>): Promise<T>;
  detail(this: void, line: string): void;
  fail(message: string): never;
  end(): void;
}

export function narrate(): Narrator {
  const start = performance.now();
  let count = 0;
  let details: string[] = [];
  const narrator: Narrator = {
    async step(title, run) {
      count += 1;
      const began = performance.now();
      const number = `${String(count).padStart(2)}.`;
      // A terminal sees the step while it runs; a log gets it once, when it is done.
      if (process.stdout.isTTY) process.stdout.write(`${number} ${title} …`);
      const clear = process.stdout.isTTY ? "\r\x1b[K" : "";
      try {
        const result = await run();
        console.log(`${clear}${number} ${title}  ${seconds(performance.now() - began)}`);
        return result;
      } catch (error) {
        console.log(`${clear}${number} ${title}`);
        return narrator.fail(error instanceof Error ? error.message : String(error));
      } finally {
        for (const line of details) console.log(`      ${line}`);
        details = [];
      }
    },
    detail: (line) => {
      details.push(line);
    },
    fail(message) {
      console.error(`\nThe demo failed: ${message}`);
      process.exit(1);
    },
    end() {
      console.log(`\nAll of it was checked. ${seconds(performance.now() - start)} in all.`);
    },
  };
  return narrator;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
