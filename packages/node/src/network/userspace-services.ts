/**
 * Service addresses where the kernel's packet filter cannot be used: each is an address of the node itself, and a
 * listener on it leads on to a ready endpoint. TCP only; endpoints see the node as their client.
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import type { Random } from "@keelson/core";
import { quote, runScript } from "../runtime/shell.ts";
import { join, listen } from "./relay.ts";
import type { ServiceRegistry } from "./service-registry.ts";

export interface UserspaceServicesOptions {
  readonly registry: ServiceRegistry;
  readonly ip: string;
  readonly random: Random;
  readonly nodeAddress: string;
  /** Served by the node itself: the API server's and the name server's. */
  readonly localAddresses: readonly string[];
  readonly log: (message: string) => void;
}

interface Front {
  readonly address: string;
  readonly port: number;
  readonly namespace: string;
  readonly service: string;
  readonly portName: string;
}

interface Listener {
  readonly server: Server;
  readonly sockets: Set<Socket>;
}

export class UserspaceServices {
  readonly #options: UserspaceServicesOptions;
  readonly #listeners = new Map<string, Listener>();
  readonly #addresses = new Set<string>();
  #busy: Promise<void> = Promise.resolve();

  constructor(options: UserspaceServicesOptions) {
    this.#options = options;
    options.registry.onChange(() => void this.apply());
  }

  /** Brings listeners in step with the services, one change after the other. */
  apply(): Promise<void> {
    this.#busy = this.#busy
      .then(() => this.#apply())
      .catch((error: unknown) => this.#options.log(`service addresses cannot be served: ${String(error)}`));
    return this.#busy;
  }

  async #apply(): Promise<void> {
    const fronts = new Map(this.#fronts().map((front) => [JSON.stringify(front), front]));
    for (const [key, { server, sockets }] of this.#listeners) {
      if (fronts.has(key)) continue;
      this.#listeners.delete(key);
      for (const socket of sockets) socket.destroy();
      server.close();
    }
    await this.#own([...fronts.values()].map(({ address }) => address));
    for (const [key, front] of fronts) {
      if (!this.#listeners.has(key)) this.#listeners.set(key, await this.#serve(front));
    }
  }

  #fronts(): Front[] {
    const { registry, nodeAddress, localAddresses } = this.#options;
    return registry.services().flatMap(({ metadata, spec }) => {
      const address = spec?.clusterIP ?? "";
      if (!/^[\d.]+$/.test(address) || localAddresses.includes(address)) return [];
      return (spec?.ports ?? [])
        .filter(({ protocol }) => (protocol ?? "TCP") === "TCP")
        .flatMap(({ name, port, nodePort }) => {
          const target = {
            namespace: metadata.namespace ?? "",
            service: metadata.name,
            portName: name ?? "",
          };
          return [
            { address, port, ...target },
            ...(nodePort ? [{ address: nodeAddress, port: nodePort, ...target }] : []),
          ];
        });
    });
  }

  async #own(addresses: readonly string[]): Promise<void> {
    const fresh = [...new Set(addresses)].filter(
      (address) => !this.#addresses.has(address) && address !== this.#options.nodeAddress,
    );
    if (fresh.length === 0) return;
    const ip = quote(this.#options.ip);
    await runScript(
      fresh.map((address) => `${ip} addr add ${address}/32 dev lo`),
      { code: "SandboxFailed", doing: "add service addresses" },
    );
    for (const address of fresh) this.#addresses.add(address);
  }

  async #serve(front: Front): Promise<Listener> {
    const sockets = new Set<Socket>();
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      const target = this.#choose(front);
      if (target === undefined) return void client.resetAndDestroy();
      const upstream = connect({
        host: target.address,
        port: target.port,
        allowHalfOpen: true,
        noDelay: true,
      });
      for (const socket of [client, upstream]) {
        sockets.add(socket);
        socket.once("close", () => sockets.delete(socket));
      }
      join(client, upstream);
    });
    await listen(server, { host: front.address, port: front.port });
    return { server, sockets };
  }

  #choose({ namespace, service, portName }: Front): { address: string; port: number } | undefined {
    const { registry, random } = this.#options;
    const targets = registry
      .backends(namespace, service)
      .filter(({ ready }) => ready)
      .flatMap(({ address, ports }) =>
        ports
          .filter(({ name, protocol }) => name === portName && protocol === "TCP")
          .map(({ port }) => ({ address, port })),
      );
    return targets[Math.floor(random.next() * targets.length)];
  }
}
