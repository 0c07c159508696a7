/** Clients that write to etcd and read from it through all members, at a steady rate. */
import { type HistoryReport, Load } from "@keelson/kit/testing";
import type { LoadAmount } from "../explore/real-subject.ts";
import { Connections, type Endpoint, raise, read } from "./client.ts";

export interface EtcdLoadOptions {
  /** The way into the cluster's network. */
  readonly socket: string;
  /** Members that serve now. */
  readonly endpoints: () => readonly Endpoint[];
  /** Begins the names of its keys, which nothing else writes. */
  readonly prefix: string;
  /** Default: `load`. */
  readonly amount?: LoadAmount | undefined;
}

/** What all clients together try. Writers have a key of their own each. */
export const load: LoadAmount = { writers: 48, readers: 4, writesPerSecond: 400 };

export class EtcdLoad extends Load<Endpoint> {
  readonly #connections: Connections;

  constructor({ socket, endpoints, prefix, amount = load }: EtcdLoadOptions) {
    const connections = new Connections(socket);
    super({
      ...amount,
      prefix,
      targets: endpoints,
      write: (to, key, value) => raise(connections, to, key, value),
      read: (to, key) => read(connections, to, key),
    });
    this.#connections = connections;
  }

  override async finish(): Promise<HistoryReport> {
    try {
      return await super.finish();
    } finally {
      this.#connections.close();
    }
  }
}
