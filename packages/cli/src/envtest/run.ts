/** Runs a stand-in until it is told to end. */
import { errorText } from "@keelson/core/internal";
import type { StandIn } from "./assets.ts";
import { startHealthyEtcd } from "./etcd.ts";
import { apiServerFlagNames, startStandIn } from "./kube-apiserver.ts";

/** Suites read from it which flags there are. */
function help(name: StandIn): string {
  const flags = name === "etcd" ? ["listen-client-urls"] : apiServerFlagNames;
  return [`${name} of Keelson`, "", ...flags.map((flag) => `      --${flag} string`), ""].join("\n");
}

export async function runStandIn(name: StandIn, args: readonly string[]): Promise<number> {
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  if (args.includes("--help")) {
    process.stdout.write(help(name));
    return 0;
  }
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
