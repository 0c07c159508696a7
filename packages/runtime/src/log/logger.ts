/** Structured logs: what a logger is, and one that is silent. */

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
