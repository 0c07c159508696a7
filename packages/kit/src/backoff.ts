/**
 * How long an object of a database operator waits after a failure. The usual 1000 s are reached while an API server is away
 * for long, and one more failure after that would leave servers to themselves for a quarter of an hour.
 */
export const databaseBackoff = { longestMs: 20_000 } as const;
