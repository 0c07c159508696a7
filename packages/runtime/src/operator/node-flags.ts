/** How Node is told to run an operator. */

/**
 * Node's young generation may grow to three times 16 MB. An operator works in short bursts and rests in between: then most of
 * that is garbage that nobody collects. Smaller than this, more of what is short-lived is taken for long-lived.
 */
export const operatorFlags: readonly string[] = ["--max-semi-space-size=4"];
