/** The errors this folder throws, and the issues a compilation reports. */
import type { Location, Source } from "./source.ts";

/**
 * `syntax`, `type` and `limit` come from compiling, `cancelled` from evaluating past the cost limit,
 * `environment` from declarations that contradict each other.
 */
export type CelErrorCode = "syntax" | "type" | "limit" | "cancelled" | "environment";

/** The only class of error that leaves the CEL engine, whatever the expression. */
export class CelError extends Error {
  readonly code: CelErrorCode;

  constructor(code: CelErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CelError";
    this.code = code;
  }
}

/** One complaint about an expression, at a place in its text. */
export interface CelIssue {
  readonly message: string;
  readonly location: Location;
}

const maxReported = 100;

/** Every complaint about one expression, in the order of its text. */
export class CelIssues {
  readonly source: Source;
  readonly #issues: CelIssue[] = [];
  #count = 0;

  constructor(source: Source) {
    this.source = source;
  }

  get count(): number {
    return this.#count;
  }

  /** At most a hundred are kept; the rest are only counted. */
  get issues(): readonly CelIssue[] {
    return this.#issues;
  }

  report(location: Location, message: string): void {
    this.#count++;
    if (this.#count <= maxReported) this.#issues.push({ location, message });
  }

  /** The block of text that the API server sends to users: one `ERROR:` line with a caret for each issue. */
  toString(): string {
    const sorted = [...this.#issues].sort(
      (a, b) => a.location.line - b.location.line || a.location.column - b.location.column,
    );
    const lines = sorted.map((issue) => this.source.display(issue.location, issue.message));
    if (this.#count > maxReported) lines.push(`${this.#count - maxReported} more errors were truncated`);
    return lines.join("\n");
  }

  /** These issues as an error to throw. */
  toError(code: CelErrorCode = "type"): CelError {
    return new CelError(code, this.toString());
  }
}
