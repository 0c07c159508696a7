/** How values of flags are read, and what is thrown at start for those that cannot be. */

/** A sentence that names the flag. */
export class FlagError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "FlagError";
  }
}

/** The entries of a list, without the white space around them. */
export function listOf(text: string | undefined): string[] {
  return (text ?? "").split(",").flatMap((entry) => entry.trim() || []);
}
