/** Waiting for what must come. */
import { setTimeout as sleep } from "node:timers/promises";

/** Looks again and again; the error says what was waited for. */
export async function eventually(
  what: string,
  withinMs: number,
  holds: () => Promise<boolean>,
  last?: () => Promise<string>,
): Promise<void> {
  const until = performance.now() + withinMs;
  let problem = "";
  for (;;) {
    const held = await holds().catch((error: unknown) => {
      problem = error instanceof Error ? `; ${error.message}` : "";
      return false;
    });
    if (held) return;
    if (performance.now() >= until) {
      const seen = last ? `; last seen: ${await last().catch(String)}` : problem;
      throw new Error(`not in ${withinMs / 1_000} s: ${what}${seen}`);
    }
    await sleep(100);
  }
}
