/** Dials pods on the server's own network, where they are on it. */
import { once } from "node:events";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import type { ClusterDialer } from "../contracts/dialer.ts";
import {
  type Address,
  isGlobalUnicast,
  parseAddress,
  parseRange,
  rangeContains,
} from "../validation/checks/addresses.ts";

export const socketDialer: ClusterDialer = {
  async dial(host, port, signal) {
    const address = parseAddress(host);
    // No pod has an address of the server's machine or link.
    if (!address || !isGlobalUnicast(address)) throw new Error("address not allowed");
    if (!isOnOwnNetwork(address)) throw new Error(`no network of this machine has ${host}`);
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

/** Beyond its own networks the machine would hand the request to a router, and what is meant for a pod to a stranger. */
function isOnOwnNetwork(address: Address): boolean {
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return own.some(({ cidr }) => {
    const range = cidr === null ? undefined : parseRange(cidr);
    return range !== undefined && rangeContains(range, address);
  });
}
