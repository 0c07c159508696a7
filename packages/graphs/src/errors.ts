/** What is wrong with a definition, where, and in one sentence each. */
import { formatPath, type Path } from "./path.ts";

/**
 * - `InvalidDefinition`: a definition that cannot work as written.
 * - `UnknownKind`: it names a kind that the cluster does not serve.
 * - `BreakingChange`: its new schema would refuse or lose what instances hold.
 * - `NotOurs`: another definition, or nobody, has made the CustomResourceDefinition of its kind.
 */
export type GraphErrorCode = "InvalidDefinition" | "UnknownKind" | "BreakingChange" | "NotOurs";

/** One mistake: where it is in the definition, and what it is. */
export interface Problem {
  readonly path: Path;
  readonly message: string;
  /** It may pass without a change of the definition, as when a kind is installed later. */
  readonly code?: GraphErrorCode;
}

/** A definition that is not taken. Its message is a sentence for each mistake. */
export class GraphError extends Error {
  override readonly name = "GraphError";
  readonly code: GraphErrorCode;
  readonly problems: readonly Problem[];

  constructor(code: GraphErrorCode, problems: readonly Problem[], options?: ErrorOptions) {
    super(problems.map(problemText).join("; and "), options);
    this.code = code;
    this.problems = problems;
  }
}

function problemText({ path, message }: Problem): string {
  return path.length === 0 ? message : `${formatPath(path)}: ${message}`;
}

/** Collects mistakes, so that a person sees all of them at once. */
export class Problems {
  readonly #found: Problem[] = [];

  report(path: Path, message: string, code?: GraphErrorCode): void {
    this.#found.push({ path, message, ...(code && { code }) });
  }

  /** What `work` returns, or undefined when it threw: its mistakes are kept. */
  try<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof GraphError)) throw error;
      this.#found.push(...error.problems);
      return undefined;
    }
  }

  throwIfAny(): void {
    if (this.#found.length === 0) return;
    const waits = this.#found.every(({ code }) => code === "UnknownKind");
    throw new GraphError(waits ? "UnknownKind" : "InvalidDefinition", this.#found);
  }
}

/** One mistake as an error. */
export function invalid(path: Path, message: string): GraphError {
  return new GraphError("InvalidDefinition", [{ path, message }]);
}
