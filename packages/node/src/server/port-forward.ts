/** Port-forward: pairs of streams, one for data and one for complaints, joined to ports of a pod. */
import type { Duplex } from "node:stream";
import { SpdyConnection, type SpdyStream } from "@keelson/client/internal/spdy";
import { tunnel, WebSocketConnection } from "@keelson/client/internal/websocket";
import type { PodSandbox } from "../runtime/container-runtime.ts";
import type { Upgrade } from "./upgrade.ts";

export const portForwardProtocols = {
  spdy: ["portforward.k8s.io"],
  websocket: ["SPDY/3.1+portforward.k8s.io", "v4.channel.k8s.io"],
};

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
        connection.readable.on("data", (chunk: Buffer) => {
          socket.send(Buffer.concat([Buffer.from([index * 2]), chunk])).catch(() => connection.close());
        });
        return connection;
      } catch (error) {
        await socket.send(Buffer.concat([Buffer.from([index * 2 + 1]), Buffer.from(String(error))]));
        return undefined;
      }
    }),
  );
  try {
    for await (const { data } of socket) connections[(data[0] ?? 0) / 2]?.writable.write(data.subarray(1));
  } finally {
    for (const connection of connections) connection?.close();
  }
}
