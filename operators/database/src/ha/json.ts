/** Reads JSON where no package is at hand. */

/**
 * Parses JSON of the agents' own, and answers of the API server of which only fields with known names are read. Keys
 * with escapes, which Node may misread, are among neither.
 */
export function parseKnownJson(text: string, revive?: (key: string, value: unknown) => unknown): unknown {
  // biome-ignore lint/plugin: the agent has no packages, and reads no key that has an escape.
  return JSON.parse(text, revive);
}
