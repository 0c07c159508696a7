/** The way in: a connection on a Unix socket names an address of the cluster's network and is joined to it. */
import { connect, createServer, type Socket } from "node:net";
import { join, listen } from "../host/relay.ts";

const longestRequest = 128;

/** The first line is `ADDRESS PORT`; everything behind it belongs to the connection. */
export async function startDialServer(path: string): Promise<void> {
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
      const [host = "", port = ""] = head.toString("latin1", 0, end).split(" ");
      const upstream: Socket = connect({ host, port: Number(port), allowHalfOpen: true, noDelay: true });
      if (head.length > end + 1) client.unshift(head.subarray(end + 1));
      join(client, upstream);
    };
    client.on("data", onData);
  });
  await listen(server, { path });
}
