/** Slow networks: connections to a pod's ports are led through a relay that holds every chunk back for a while. */
import { connect, createServer, type Server, type Socket } from "node:net";
import type { Clock } from "@keelson/core";
import { listen } from "./relay.ts";

export interface DelayedPort {
  /** The pod's own address and port. */
  readonly address: string;
  readonly port: number;
  /** Where connections to it are to be led instead. */
  readonly relayAddress: string;
  readonly relayPort: number;
}

interface Entry extends DelayedPort {
  readonly server: Server;
  readonly sockets: Set<Socket>;
}

export class Delays {
  readonly #clock: Clock;
  readonly #relayAddress: string;
  readonly #entries: Entry[] = [];

  constructor(clock: Clock, relayAddress: string) {
    this.#clock = clock;
    this.#relayAddress = relayAddress;
  }

  ports(): readonly DelayedPort[] {
    return this.#entries;
  }

  /** Delays what comes in on these ports by `delayMs` each way; 0 takes the delay away. */
  async set(address: string, ports: readonly number[], delayMs: number): Promise<void> {
    for (const entry of this.#entries.filter((one) => one.address === address)) {
      this.#entries.splice(this.#entries.indexOf(entry), 1);
      for (const socket of entry.sockets) socket.destroy();
      entry.server.close();
    }
    if (delayMs <= 0) return;
    for (const port of ports) this.#entries.push(await this.#relay(address, port, delayMs));
  }

  async #relay(address: string, port: number, delayMs: number): Promise<Entry> {
    const sockets = new Set<Socket>();
    const server = createServer({ allowHalfOpen: true }, (client) => {
      // The first packet is late too: that is the connection itself.
      const upstream = connect({ host: address, port, allowHalfOpen: true });
      for (const socket of [client, upstream]) {
        sockets.add(socket);
        socket.once("close", () => sockets.delete(socket));
      }
      this.#hold(client, upstream, delayMs);
      this.#hold(upstream, client, delayMs);
    });
    await listen(server, { host: this.#relayAddress, port: 0 });
    const { port: relayPort } = server.address() as { port: number };
    return { address, port, relayAddress: this.#relayAddress, relayPort, server, sockets };
  }

  #hold(from: Socket, to: Socket, delayMs: number): void {
    from.on("data", (chunk: Buffer) => this.#clock.timer(delayMs, () => to.writable && to.write(chunk)));
    from.on("end", () => this.#clock.timer(delayMs, () => to.writable && to.end()));
    from.on("error", () => to.destroy());
  }
}
