/** What an operator logs with by default. */
import { type Logger, type LogLevel, levelOf } from "./logger.ts";
import { pinoLogger } from "./pino-logger.ts";

/** Lines for a person at a terminal, JSON everywhere else. */
export async function defaultLogger(name: string, wanted?: LogLevel): Promise<Logger> {
  const variable = process.env["LOG_LEVEL"];
  const level = wanted ?? levelOf(variable) ?? "info";
  const log = await at(level, name);
  if (wanted === undefined && variable && !levelOf(variable)) {
    log.warn(`LOG_LEVEL is "${variable}", which is none of debug, info, warn and error; info is used`);
  }
  return log;
}

async function at(level: LogLevel, name: string): Promise<Logger> {
  if (!process.stdout.isTTY) return await pinoLogger({ name, level });
  const { terminalLogger } = await import("./terminal-logger.ts");
  return terminalLogger({ write: (line) => process.stdout.write(line), now: Date.now, level });
}
