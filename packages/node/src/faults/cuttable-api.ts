/** A node's way to the API server that can be cut: what is asked then fails, what is followed waits. */

import type { NodeApi } from "../api/api.ts";
import { NodeError } from "../errors.ts";

export interface CuttableApi {
  readonly api: NodeApi;
  cut(): void;
  mend(): void;
}

type Ask = (...args: unknown[]) => Promise<unknown>;
type Follow = (...args: unknown[]) => AsyncIterable<unknown>;

export function cuttable(api: NodeApi): CuttableApi {
  let line = new AbortController();
  let restored = Promise.withResolvers<void>();

  /** Ends with `signal`; a cut only interrupts it. */
  async function* following(follow: Follow, args: readonly unknown[], signal: AbortSignal) {
    const ended = new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true }),
    );
    while (!signal.aborted) {
      const { signal: cut } = line;
      if (cut.aborted) {
        await Promise.race([restored.promise, ended]);
        continue;
      }
      try {
        yield* follow(...args, AbortSignal.any([signal, cut]));
      } catch (error) {
        if (!cut.aborted) throw error;
      }
      if (!cut.aborted) return;
    }
  }

  const asking =
    (ask: Ask): Ask =>
    async (...args) => {
      if (line.signal.aborted) throw new NodeError("CutOff", "the node is cut off from the API server");
      return await ask(...args);
    };

  const methods = Object.entries(api).map(([name, method]) => [
    name,
    name.startsWith("follow")
      ? (...args: unknown[]) =>
          following(method as unknown as Follow, args.slice(0, -1), args.at(-1) as AbortSignal)
      : asking(method as unknown as Ask),
  ]);
  return {
    api: Object.fromEntries(methods) as NodeApi,
    cut: () => {
      if (line.signal.aborted) return;
      restored = Promise.withResolvers();
      line.abort();
    },
    mend: () => {
      if (!line.signal.aborted) return;
      line = new AbortController();
      restored.resolve();
    },
  };
}
