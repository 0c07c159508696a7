/** How Node is told to run an operator. */

/**
 * An operator works in short bursts and rests in between. Node's defaults are for servers that are always busy: a young
 * generation of 16 MB and a heap that grows before it is collected, which for an operator is mostly garbage that nobody
 * fetches.
 */
export const operatorFlags: readonly string[] = ["--optimize-for-size"];
