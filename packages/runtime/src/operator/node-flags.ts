/** How Node is told to run an operator. */
import { collectVariable } from "../memory/rest.ts";

/**
 * Node's young generation may grow to three times 16 MB. An operator works in short bursts and rests in between: then most of
 * that is garbage that nobody collects. Smaller than this, more of what is short-lived is taken for long-lived.
 */
const youngGeneration = "--max-semi-space-size=4";

export const operatorFlags: readonly string[] = [youngGeneration];

export const operatorEnvironment: Readonly<Record<string, string>> = {
  /**
   * The C library keeps a heap for each thread, of which an operator has a dozen that hardly allocate: one heap for all took
   * 1 to 4 MB off 112.
   */
  MALLOC_ARENA_MAX: "1",
  /** Lets the runtime collect what a burst of work has left. */
  [collectVariable]: "1",
};
