/** Dials pods on the server's own network, where they are on it. */
import { once } from "node:events";
import { connect } from "node:net";
import type { ClusterDialer } from "../contracts/dialer.ts";
import { isGlobalUnicast, parseAddress } from "../validation/checks/addresses.ts";

export const socketDialer: ClusterDialer = {
  async dial(host, port, signal) {
    const address = parseAddress(host);
    // No pod has an address of the server's machine or link.
    if (!address || !isGlobalUnicast(address)) throw new Error("address not allowed");
    const socket = connect({ host, port, noDelay: true });
    try {
      await once(socket, "connect", { signal });
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    }
  },
};
