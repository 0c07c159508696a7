/** Structured logs: one JSON object per line. */
import type { Logger } from "./context.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

/** Logs nothing. */
export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLogger,
};

interface Pino {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Pino;
}

/** Logs through pino, which is loaded only when something asks for a logger. */
export async function pinoLogger(options: { level?: LogLevel; name?: string } = {}): Promise<Logger> {
  const { pino, stdTimeFunctions } = await import("pino");
  const logger = pino({
    level: options.level ?? "info",
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    ...(options.name === undefined ? {} : { name: options.name }),
  });
  return fromPino(logger as unknown as Pino);
}

/** What an operator logs with unless told: lines for a person at a terminal, JSON for everything else. */
export async function defaultLogger(name: string): Promise<Logger> {
  if (!process.stdout.isTTY) return await pinoLogger({ name });
  const { terminalLogger } = await import("./terminal-log.ts");
  return terminalLogger({ write: (line) => process.stdout.write(line), now: Date.now });
}

function fromPino(pino: Pino): Logger {
  return {
    debug: (message, fields) => pino.debug(readable(fields), message),
    info: (message, fields) => pino.info(readable(fields), message),
    warn: (message, fields) => pino.warn(readable(fields), message),
    error: (message, fields) => pino.error(readable(fields), message),
    child: (fields) => fromPino(pino.child(fields)),
  };
}

/** Errors as their sentence and, for what is no plain refusal, their stack. */
export function readable(fields: Readonly<Record<string, unknown>> = {}): object {
  const { error } = fields;
  if (!(error instanceof Error)) return fields;
  const code = (error as { code?: unknown }).code;
  return {
    ...fields,
    error: error.message,
    ...(code === undefined ? { stack: error.stack } : { code }),
  };
}
