/** Where a node's API is reached on the machine: on the kubelet's own port, at a loopback address of the node's own. */
import type { Endpoint } from "./relay.ts";

/** The port that every client of a kubelet expects. */
export const kubeletPort = 10250;

export interface KubeletEndpoint<T> {
  readonly address: string;
  readonly port: number;
  readonly opened: T;
}

/** Of the addresses in 127.10.250.0/24, so many nodes of one machine have the port. */
const mostNodes = 254;

/**
 * Opens the first endpoint that is free. The whole of 127.0.0.0/8 is loopback on Linux, so that several nodes on one machine
 * can have the same port, as nodes of their own machines have. Where a kubelet of the machine's own has the port on every
 * address, or where those addresses do not exist, it is any port of 127.0.0.1.
 */
export async function openKubeletEndpoint<T extends { readonly port: number }>(
  open: (endpoint: Endpoint) => Promise<T>,
): Promise<KubeletEndpoint<T>> {
  for (let node = 1; node <= mostNodes; node++) {
    const address = `127.10.250.${node}`;
    try {
      return { address, port: kubeletPort, opened: await open({ host: address, port: kubeletPort }) };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EADDRNOTAVAIL" || code === "EACCES") break;
      if (code !== "EADDRINUSE") throw error;
    }
  }
  const address = "127.0.0.1";
  const opened = await open({ host: address, port: 0 });
  return { address, port: opened.port, opened };
}
