/** The cluster that a command changes, and whether it is one of ours on this machine. */
import { type Client, connect } from "@keelson/client";
import { clusterNames, readRecord } from "@keelson/cluster/up";
import { chooseTarget, type TargetChoice } from "../kubeconfig/target.ts";

export interface OpenTarget extends AsyncDisposable {
  readonly client: Client;
  /** The embedded cluster of that name: its nodes take images from this machine's store. */
  readonly embedded?: string;
}

/** Connects to what was chosen. */
export async function openTarget(choice: TargetChoice): Promise<OpenTarget> {
  const { context, server } = await chooseTarget(choice);
  const { kubeconfig } = choice;
  const client = await connect({ context, ...(kubeconfig === undefined ? {} : { kubeconfig }) });
  const embedded = await embeddedAt(server);
  return {
    client,
    ...(embedded === undefined ? {} : { embedded }),
    [Symbol.asyncDispose]: async () => await client.close(),
  };
}

async function embeddedAt(server: string): Promise<string | undefined> {
  for (const name of await clusterNames()) {
    const record = await readRecord(name);
    if (record !== undefined && new URL(record.server).host === new URL(server).host) return name;
  }
  return undefined;
}
