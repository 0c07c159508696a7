/** Byte relays between the machine's network and the cluster's own. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** Where a relay leads: a TCP address or the path of a Unix socket. */
export type Endpoint = { readonly host: string; readonly port: number } | { readonly path: string };

export interface Relay {
  /** The TCP port, or 0 for a Unix socket. */
  readonly port: number;
  close(): Promise<void>;
}

export interface RelayOptions {
  readonly listen: Endpoint;
  /** Where a new connection goes; undefined refuses it. */
  readonly target: (client: Socket) => Endpoint | undefined;
  /** Sent to the target before anything the client says. */
  readonly preamble?: string;
}

export async function startRelay(options: RelayOptions): Promise<Relay> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const target = options.target(client);
    if (target === undefined) return void client.destroy();
    const upstream = connect({ ...target, allowHalfOpen: true, noDelay: true });
    if (options.preamble !== undefined) upstream.write(options.preamble);
    join(client, upstream);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.once("close", () => open.delete(socket));
    }
  });
  await listen(server, options.listen);
  const address = server.address() as AddressInfo | string | null;
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    close: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** Connects two sockets until both directions have ended; a break of one breaks the other. */
export function join(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.pipe(to);
    from.on("error", () => to.destroy());
    from.on("close", () => {
      if (from.errored || !from.readableEnded) to.destroy();
    });
  }
}

export function listen(server: Server, endpoint: Endpoint): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(endpoint, () => {
    server.off("error", reject);
    resolve();
  });
  return promise;
}
