/** Structured logs for machines: one JSON object per line. */
import { type Logger, type LogLevel, readable } from "./logger.ts";

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

function fromPino(pino: Pino): Logger {
  return {
    debug: (message, fields) => pino.debug(readable(fields), message),
    info: (message, fields) => pino.info(readable(fields), message),
    warn: (message, fields) => pino.warn(readable(fields), message),
    error: (message, fields) => pino.error(readable(fields), message),
    child: (fields) => fromPino(pino.child(fields)),
  };
}
