/** The way into the cluster's network, for everything that the server sends to pods. */
import type { Duplex } from "node:stream";

/** How the API server reaches addresses inside the cluster: pods, and the pods behind services. */
export interface ClusterDialer {
  /**
   * A connection to an address of a pod or a service. Rejects for an address that cannot be one, and when nobody answers.
   * The signal ends the attempt, not the connection.
   */
  dial(address: string, port: number, signal: AbortSignal): Promise<Duplex>;
}
