/** The cluster that a command changes, and whether it is one of ours on this machine. */
import { type Client, connect } from "@keelson/client";
import { clusterNames, readRecord } from "@keelson/cluster/up";
import { CliError } from "../errors.ts";

export interface TargetOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
}

export interface Target extends AsyncDisposable {
  readonly client: Client;
  /** The embedded cluster of that name: its nodes take images from this machine's store. */
  readonly embedded?: string;
}

/** Connects. A cluster that is not on this machine must be named: a forgotten context is nobody's wish. */
export async function openTarget({ context, kubeconfig }: TargetOptions): Promise<Target> {
  const client = await connect({
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
  });
  const host = client.host ?? "";
  if (context === undefined && !isLoopback(host)) {
    await client.close();
    throw new CliError(
      "NoContext",
      `the current context leads to ${host}, which is not this machine; name it with --context if it is meant`,
    );
  }
  const embedded = await embeddedAt(host);
  return {
    client,
    ...(embedded === undefined ? {} : { embedded }),
    [Symbol.asyncDispose]: async () => await client.close(),
  };
}

function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/.test(host.replace(/^https?:\/\//, ""));
}

async function embeddedAt(host: string): Promise<string | undefined> {
  for (const name of await clusterNames()) {
    const record = await readRecord(name);
    if (record !== undefined && new URL(record.server).host === host.replace(/^https?:\/\//, "")) return name;
  }
  return undefined;
}
