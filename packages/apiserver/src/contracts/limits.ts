/** Bounds on what clients send. */

/** Deeper values are refused: recursion over what clients send must stay within the stack. */
export const maxDepth = 1000;
