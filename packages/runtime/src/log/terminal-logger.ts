/** Logs for a person at a terminal: one line each, the sentence first. */
import { type Logger, type LogLevel, readable, tells } from "./logger.ts";

export interface TerminalLogOptions {
  readonly write: (line: string) => void;
  readonly now: () => number;
  /** Default: `info`. */
  readonly level?: LogLevel;
}

/** `11:04:12 error  the operator could not start: no route to host  code=Unreachable` */
export function terminalLogger(
  options: TerminalLogOptions,
  bound: Readonly<Record<string, unknown>> = {},
): Logger {
  const at = (level: LogLevel) => (message: string, fields?: Readonly<Record<string, unknown>>) => {
    if (!tells(options.level ?? "info", level)) return;
    const { error, stack, ...rest } = { ...bound, ...readable(fields) } as Record<string, unknown>;
    const time = new Date(options.now()).toISOString().slice(11, 19);
    const sentence = error === undefined ? message : `${message}: ${String(error)}`;
    const others = Object.entries(rest).map(([name, value]) => `  ${name}=${shown(value)}`);
    const trace = typeof stack === "string" ? `\n${stack}` : "";
    options.write(`${time} ${level.padEnd(5)}  ${sentence}${others.join("")}${trace}\n`);
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => terminalLogger(options, { ...bound, ...fields }),
  };
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
