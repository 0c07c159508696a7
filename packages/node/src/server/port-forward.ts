/** Port-forward: pairs of streams, one for data and one for complaints, joined to ports of a pod. */
import type { Duplex, Writable } from "node:stream";
import { SpdyConnection, type SpdyStream } from "@keelson/client/internal/spdy";
import { tunnel, WebSocketConnection } from "@keelson/client/internal/websocket";
import type { DuplexPipe, PodSandbox } from "../runtime/container-runtime.ts";
import type { Upgrade } from "./upgrade.ts";

export const portForwardProtocols = {
  spdy: ["portforward.k8s.io"],
  websocket: ["SPDY/3.1+portforward.k8s.io", "v4.channel.k8s.io"],
};

/** Streams whose other half has not come. */
const mostHalves = 100;
/** Each has two channels, and a channel's number is one byte. */
const mostPorts = 128;

/** Throws a RangeError for what are no ports. */
export function forwardedPorts(lists: readonly string[]): number[] {
  const texts = lists.flatMap((list) => list.split(","));
  if (texts.length > mostPorts) throw new RangeError(`at most ${mostPorts} ports can be forwarded at once`);
  return texts.map((text) => {
    const port = Number(text);
    if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port;
    throw new RangeError(`invalid port ${JSON.stringify(text)}`);
  });
}

export async function runPortForward(
  upgrade: Upgrade,
  sandbox: PodSandbox,
  ports: readonly number[],
): Promise<void> {
  if (upgrade.kind === "spdy") return await overSpdy(upgrade.stream, sandbox);
  const socket = new WebSocketConnection(upgrade.stream, { role: "server" });
  if (upgrade.protocol.startsWith("SPDY/3.1+")) return await overSpdy(tunnel(socket), sandbox);
  await overChannels(socket, sandbox, ports);
}

async function overSpdy(transport: Duplex, sandbox: PodSandbox): Promise<void> {
  const pairs = new Map<string, { data?: SpdyStream; error?: SpdyStream }>();
  const connection = new SpdyConnection(transport, {
    role: "server",
    onStream: (stream) => {
      const id = stream.headers.requestid ?? `${stream.headers.port}`;
      const pair = pairs.get(id) ?? {};
      pairs.set(id, pair);
      if (pairs.size > mostHalves) return void transport.destroy();
      if (stream.headers.streamtype === "error") pair.error = stream;
      else pair.data = stream;
      if (pair.data === undefined || pair.error === undefined) return;
      pairs.delete(id);
      void forward(sandbox, Number(pair.data.headers.port), pair.data, (message) => pair.error?.end(message));
    },
  });
  await connection.closed;
}

/** Joins one stream to one connection; `report` is called once, without a message when all went well. */
async function forward(
  sandbox: PodSandbox,
  port: number,
  data: Duplex,
  report: (message?: string) => void,
): Promise<void> {
  try {
    const connection = await sandbox.connect(port);
    data.pipe(connection.writable);
    connection.readable.pipe(data);
    data.once("close", () => connection.close());
    await new Promise<void>((resolve) => connection.readable.once("close", resolve).once("end", resolve));
    report();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    report(
      `an error occurred forwarding ${port} -> ${port}: error forwarding port ${port} to pod ${sandbox.id}: ${reason}`,
    );
    data.end();
  }
}

/** The plain WebSocket form: two channels per port, each begun by the port's number. */
async function overChannels(
  socket: WebSocketConnection,
  sandbox: PodSandbox,
  ports: readonly number[],
): Promise<void> {
  const connections = await Promise.all(
    ports.map(async (port, index) => {
      const number = Buffer.alloc(2);
      number.writeUInt16LE(port);
      await socket.send(Buffer.concat([Buffer.from([index * 2]), number]));
      await socket.send(Buffer.concat([Buffer.from([index * 2 + 1]), number]));
      try {
        const connection = await sandbox.connect(port);
        void answer(connection, socket, index * 2);
        return connection;
      } catch (error) {
        await socket.send(Buffer.concat([Buffer.from([index * 2 + 1]), Buffer.from(String(error))]));
        return undefined;
      }
    }),
  );
  try {
    for await (const { data } of socket) {
      const writable = connections[(data[0] ?? 0) / 2]?.writable;
      if (writable?.writable && !writable.write(data.subarray(1))) await room(writable);
    }
  } finally {
    for (const connection of connections) connection?.close();
  }
}

/** Piece by piece: no more is read from the pod than the client takes. */
async function answer(connection: DuplexPipe, socket: WebSocketConnection, channel: number): Promise<void> {
  try {
    for await (const chunk of connection.readable)
      await socket.send(Buffer.concat([Buffer.from([channel]), chunk as Buffer]));
  } catch {
    connection.close();
  }
}

function room(writable: Writable): Promise<void> {
  return new Promise((resolve) => {
    writable.once("drain", resolve).once("close", resolve);
  });
}
