/** What an operator logs with by default. */
import type { Logger } from "./logger.ts";
import { pinoLogger } from "./pino-logger.ts";

/** Lines for a person at a terminal, JSON everywhere else. */
export async function defaultLogger(name: string): Promise<Logger> {
  if (!process.stdout.isTTY) return await pinoLogger({ name });
  const { terminalLogger } = await import("./terminal-logger.ts");
  return terminalLogger({ write: (line) => process.stdout.write(line), now: Date.now });
}
