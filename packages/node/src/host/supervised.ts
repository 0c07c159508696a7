/** Nodes that are started again when their process ends although nobody stopped it. */
import type { NodeHost } from "./host-options.ts";

/** So many deaths within a minute, and there is no use in trying again. */
const manyDeaths = 5;
const minuteMs = 60_000;

export interface SupervisedOptions {
  readonly start: () => Promise<NodeHost>;
  readonly log: (line: string) => void;
}

/** Its `failure` settles only when the nodes cannot be kept running. */
export async function superviseNodes({ start, log }: SupervisedOptions): Promise<NodeHost> {
  let current = Promise.resolve(await start());
  const { mode } = await current;
  const { promise: failure, resolve: giveUp } = Promise.withResolvers<Error>();
  const deaths: number[] = [];
  let stopping: Promise<void> | undefined;

  const restart = async (dead: NodeHost, reason: Error): Promise<NodeHost> => {
    await dead.stop();
    deaths.push(performance.now());
    if (deaths.filter((at) => at > performance.now() - minuteMs).length >= manyDeaths) throw reason;
    log(`${reason.message}; the nodes are started again`);
    return await start();
  };
  const watch = async (): Promise<void> => {
    for (;;) {
      const host = await current;
      const reason = await host.failure;
      if (stopping !== undefined) return;
      current = restart(host, reason);
      await current;
    }
  };
  watch().catch((error: unknown) => giveUp(error instanceof Error ? error : new Error(String(error))));

  const stop = () => {
    stopping ??= current.then(
      (host) => host.stop(),
      () => undefined,
    );
    return stopping;
  };
  return {
    mode,
    failure,
    inject: async (fault) => await (await current).inject(fault),
    dial: async (address, port, signal) => await (await current).dial(address, port, signal),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
