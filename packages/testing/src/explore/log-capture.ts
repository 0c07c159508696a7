/** Keeps what an operator logs, so that oracles can read it. */
import type { Logger } from "@keelson/runtime";

type LogFields = Readonly<Record<string, unknown>>;

const longest = 2_000;

export class LogCapture {
  readonly lines: string[] = [];

  get logger(): Logger {
    const write = (message: string, fields?: LogFields) => {
      this.lines.push(fields ? `${message} ${shown(fields)}` : message);
      if (this.lines.length > longest) this.lines.splice(0, 1);
    };
    const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
    return logger;
  }
}

function shown(fields: object): string {
  try {
    return JSON.stringify(fields, (_key, value: unknown) =>
      value instanceof Error ? `${value.message} ${shown({ cause: value.cause })}` : value,
    );
  } catch {
    return "";
  }
}
