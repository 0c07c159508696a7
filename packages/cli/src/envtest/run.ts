/** Runs a stand-in until it is told to end. */
import { errorText } from "@keelson/core/internal";
import type { StandIn } from "./assets.ts";
import { startHealthyEtcd } from "./etcd.ts";
import { startStandIn } from "./kube-apiserver.ts";

export async function runStandIn(name: StandIn, args: readonly string[]): Promise<number> {
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const { promise: told, resolve } = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  try {
    await using _ = name === "etcd" ? await startHealthyEtcd(args) : await startStandIn(args, say);
    await told;
    return 0;
  } catch (error) {
    say(errorText(error));
    return 1;
  }
}
