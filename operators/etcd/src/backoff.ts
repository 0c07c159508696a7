/**
 * How long an object that failed waits. The usual 1000 s are reached while an API server is away for long, and one more
 * failure after that would leave members to themselves for a quarter of an hour.
 */
export const backoff = { longestMs: 20_000 } as const;
