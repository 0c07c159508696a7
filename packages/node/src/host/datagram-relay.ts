/** Leads datagrams to a port of this machine into the cluster's network, and the answers back. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { FrameReader, frame } from "../network/datagram-frames.ts";
import type { Relay } from "../network/relay.ts";

export interface DatagramRelayOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** Where a connection is joined to an address inside. */
  readonly dialSocket: string;
  readonly target: { readonly host: string; readonly port: number };
}

/** A sender that is silent for so long is forgotten. */
const idleMs = 60_000;
/** Senders that are known at the same time; the oldest gives way to a new one. */
const mostSenders = 1_000;

export async function startDatagramRelay(options: DatagramRelayOptions): Promise<Relay> {
  const { listen, dialSocket, target } = options;
  const socket = createSocket("udp4");
  const senders = new Map<string, Socket>();
  const streamFor = (host: string, port: number): Socket => {
    const key = `${host}:${port}`;
    const known = senders.get(key);
    if (known) return known;
    for (const oldest of senders.size >= mostSenders ? [...senders.values()].slice(0, 1) : [])
      oldest.destroy();
    const stream = connect({ path: dialSocket });
    const reader = new FrameReader();
    stream.write(`udp ${target.host} ${target.port}\n`);
    stream.on("data", (chunk: Buffer) => {
      for (const datagram of reader.read(chunk)) socket.send(datagram, port, host);
    });
    stream.setTimeout(idleMs, () => stream.destroy());
    stream.on("error", () => undefined);
    stream.once("close", () => senders.delete(key));
    senders.set(key, stream);
    return stream;
  };
  socket.on("message", (datagram, from) => {
    const stream = streamFor(from.address, from.port);
    // As a network does with more than it can carry.
    if (!stream.writableNeedDrain) stream.write(frame(datagram));
  });
  socket.bind(listen.port, listen.host);
  await once(socket, "listening");
  socket.on("error", () => undefined);
  return {
    port: socket.address().port,
    close: () =>
      new Promise((resolve) => {
        for (const stream of senders.values()) stream.destroy();
        socket.close(() => resolve());
      }),
  };
}
