/** `keelson node`: one or more nodes that join the cluster of a kubeconfig. */
import { startNodes } from "./node-host.ts";

/** Flags of `keelson node`. */
export interface NodeFlags {
  readonly kubeconfig?: string;
  /** In place of `kubeconfig`: only for asking for certificates of the nodes' own. */
  readonly bootstrapKubeconfig?: string;
  /** Several names make several nodes with one network. */
  readonly name: string | readonly string[];
  /** Keeps logs, volumes and records of pods; gone with the node when not given. */
  readonly dataDir?: string;
  readonly podCidr?: string;
  readonly clusterDns?: string;
  readonly clusterDomain?: string;
  readonly maxPods?: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** Runs no process: pods are simulated. */
  readonly simulate?: boolean;
}

/** Runs until SIGINT or SIGTERM, or until the nodes fail. Resolves to the exit code. */
export async function runNode(flags: NodeFlags): Promise<number> {
  const names = typeof flags.name === "string" ? [flags.name] : flags.name;
  const signalled = new Promise<undefined>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve(undefined));
  });
  await using host = await startNodes({
    ...(flags.kubeconfig !== undefined && { kubeconfig: flags.kubeconfig }),
    ...(flags.bootstrapKubeconfig !== undefined && { bootstrapKubeconfig: flags.bootstrapKubeconfig }),
    names,
    dataDirectory: flags.dataDir,
    podCidr: flags.podCidr,
    dnsAddress: flags.clusterDns,
    clusterDomain: flags.clusterDomain,
    maxPods: flags.maxPods,
    labels: flags.labels,
    simulate: flags.simulate ? "always" : "auto",
    log: (line) => console.log(line),
    onProgress: (sentence) => console.log(sentence),
  });
  const pods = host.mode === "sandbox" ? "real" : "simulated";
  console.log(`${names.join(", ")} ${names.length > 1 ? "are" : "is"} ready; pods are ${pods}`);
  // Timers of the clock do not hold the process; this does.
  const hold = setInterval(() => undefined, 60_000);
  const failure = await Promise.race([signalled, host.failure]);
  clearInterval(hold);
  if (failure === undefined) return 0;
  console.error(failure.message);
  return 1;
}
