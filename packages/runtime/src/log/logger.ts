/** Structured logs: what a logger is, and one that is silent. */

/** How much is logged: this and what is more serious. */
export type LogLevel = "debug" | "info" | "warn" | "error";

const levels: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** Whether a log at this level tells what is logged at the other. */
export function tells(level: LogLevel, of: LogLevel): boolean {
  return levels.indexOf(of) >= levels.indexOf(level);
}

/** The level that `LOG_LEVEL` names; undefined when it names none. */
export function levelOf(text: string | undefined): LogLevel | undefined {
  return levels.find((level) => level === text?.trim().toLowerCase());
}

/** Where an operator tells what it does: a sentence and fields. */
export interface Logger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
  child(fields: Readonly<Record<string, unknown>>): Logger;
}

/** Logs nothing. */
export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLogger,
};

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
