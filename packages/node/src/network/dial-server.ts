/** The way in: a connection on a Unix socket names an address of the cluster's network and is joined to it. */
import { createSocket, type Socket as Datagrams } from "node:dgram";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { FrameReader, frame } from "./datagram-frames.ts";
import { join, listen } from "./relay.ts";

const longestRequest = 128;

/**
 * The first line is `ADDRESS PORT`, `udp ADDRESS PORT` or `dial ADDRESS PORT`; everything behind it belongs to the
 * connection. The last form is for callers who were told the address by somebody else: only what `isInCluster` is dialled,
 * and a line says `ok`, or why not, before anything else is sent back.
 */
export async function startDialServer(
  path: string,
  isInCluster: (address: string) => boolean,
): Promise<void> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    let head = Buffer.alloc(0);
    client.on("error", () => undefined);
    const onData = (chunk: Buffer) => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf(0x0a);
      if (end < 0) {
        if (head.length > longestRequest) client.destroy();
        return;
      }
      client.off("data", onData);
      client.pause();
      const words = head.toString("latin1", 0, end).split(" ");
      const [host = "", port = ""] = words.slice(-2);
      if (words[0] === "udp") {
        joinDatagrams(client, host, Number(port), head.subarray(end + 1));
        return;
      }
      const checked = words[0] === "dial";
      if (checked && !isInCluster(host)) {
        client.end(`${host} is no address of a pod or a service of this cluster\n`);
        return;
      }
      const upstream: Socket = connect({ host, port: Number(port), allowHalfOpen: true, noDelay: true });
      if (head.length > end + 1) client.unshift(head.subarray(end + 1));
      if (checked) joinAnswered(client, upstream);
      else join(client, upstream);
    };
    client.on("data", onData);
  });
  await listen(server, { path });
}

/** Joins the two when the far one is there. */
function joinAnswered(client: Socket, upstream: Socket): void {
  const fail = (error: Error) => client.end(`${error.message}\n`);
  client.once("close", () => upstream.destroy());
  upstream.once("error", fail);
  upstream.once("connect", () => {
    upstream.off("error", fail);
    client.write("ok\n");
    join(client, upstream);
  });
}
/** One sender's datagrams, framed on the stream, and the answers to them. */
function joinDatagrams(client: Socket, host: string, port: number, begun: Buffer): void {
  const reader = new FrameReader();
  let socket: Promise<Datagrams> | undefined;
  const open = async (): Promise<Datagrams> => {
    const made = createSocket("udp4");
    made.on("message", (datagram) => client.write(frame(datagram)));
    // Nobody listens there yet. The kernel remembers for this port of ours where it led; a new one is led again.
    made.on("error", () => {
      made.close();
      socket = undefined;
    });
    made.connect(port, host);
    await once(made, "connect");
    return made;
  };
  const send = async (datagram: Buffer) => {
    socket ??= open();
    (await socket).send(datagram);
  };
  // What cannot be sent is lost, as datagrams are.
  const take = (chunk: Buffer) => {
    for (const datagram of reader.read(chunk)) send(datagram).catch(() => undefined);
  };
  client.once("close", () => void socket?.then((last) => last.close()).catch(() => undefined));
  take(begun);
  client.on("data", take);
  client.resume();
}
