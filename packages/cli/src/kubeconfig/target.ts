/** The cluster that a command works on: one that was named, or one on this machine. */
import { resolve } from "node:path";
import { loadKubeconfig } from "@keelson/client";
import { CliError } from "../errors.ts";

/** What a person said of it. */
export interface TargetChoice {
  readonly context?: string;
  /** Default: as kubectl. */
  readonly kubeconfig?: string;
}

/** A context of a kubeconfig, with its server. */
export interface Target {
  readonly context: string;
  readonly server: string;
  /** What a process that is started for it finds in its environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** A server elsewhere must be named: nobody should meet production because a shell was left on it. */
export async function chooseTarget({ context, kubeconfig }: TargetChoice): Promise<Target> {
  const config = await loadKubeconfig(kubeconfig === undefined ? {} : { kubeconfig });
  const name = context ?? config.currentContext;
  const names = [...config.contexts.keys()];
  const files = config.files.join(", ");
  const choice = names.length === 0 ? "it has none at all" : `choose one of ${names.slice(0, 8).join(", ")}`;
  if (name === undefined) {
    throw new CliError("NoContext", `${files} has no current context; name one with --context: ${choice}`);
  }
  const entry = config.contexts.get(name);
  const cluster = entry && config.clusters.get(entry.cluster);
  if (!entry || !cluster) {
    throw new CliError(
      "NoContext",
      entry
        ? `context ${name} of ${files} names a cluster ${entry.cluster} that is not there`
        : `${files} has no context ${name}; ${choice}`,
    );
  }
  if (context === undefined && !(isLoopback(cluster.server) && cluster.proxyUrl === undefined)) {
    throw new CliError(
      "NoContext",
      `the current context ${name} leads to ${cluster.server}, which is not on this machine; if that is meant, say --context ${name}`,
    );
  }
  const env: Record<string, string> = { KEELSON_CONTEXT: name };
  if (kubeconfig !== undefined) env["KUBECONFIG"] = resolve(kubeconfig);
  return { context: name, server: cluster.server, env };
}

/** Whether an address is on this machine, by its own words: a name that only resolves there does not count. */
export function isLoopback(server: string): boolean {
  const host = URL.parse(server)?.hostname ?? "";
  return host === "localhost" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}
