/** A stream of bytes for a client that reads it over a WebSocket, as browsers do. */
import type { HttpHeaders } from "@keelson/core";
import { type Hijack, header } from "../messages/message.ts";

/** Without a protocol messages are binary; in base64 they are text. */
const protocols = ["binary.k8s.io", "base64.binary.k8s.io"];

/** Begins with an empty message, by which the client knows that it is connected. What it sends is not read. */
export function overWebSocket(headers: HttpHeaders, source: AsyncIterable<Uint8Array>): Hijack {
  return {
    async hijack(client) {
      const { WebSocketConnection, webSocketAccept } = await import("@keelson/client/internal/websocket");
      const offered = (header(headers, "sec-websocket-protocol") ?? "")
        .split(",")
        .map((one) => one.trim())
        .filter((one) => one !== "");
      const protocol = offered.find((one) => protocols.includes(one));
      if (offered.length > 0 && protocol === undefined) {
        client.refuse(400, Buffer.from(`requested protocol(s) are not supported: [${offered.join(" ")}]\n`));
        return;
      }
      const stream = client.accept(101, {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-accept": webSocketAccept(header(headers, "sec-websocket-key") ?? ""),
        ...(protocol !== undefined && { "sec-websocket-protocol": protocol }),
      });
      const socket = new WebSocketConnection(stream, { role: "server" });
      const inText = protocol === "base64.binary.k8s.io";
      const send = (chunk: Uint8Array) => socket.send(inText ? Buffer.from(chunk).toString("base64") : chunk);
      // Answers pings, and notices that the client is gone.
      const gone = (async () => {
        for await (const _ of socket);
      })().catch(() => {});
      let open = true;
      void gone.then(() => {
        open = false;
      });
      try {
        await send(new Uint8Array());
        for await (const chunk of source) {
          if (!open) return;
          await send(chunk);
        }
        await socket.close();
      } catch {
        socket.destroy();
      }
    },
  };
}
