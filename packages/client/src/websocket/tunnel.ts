/** A byte stream inside a WebSocket's binary messages. */
import { Duplex } from "node:stream";
import { ClientError } from "../errors.ts";
import type { WebSocketConnection } from "./connection.ts";

/** Message borders mean nothing. Ending either side closes the WebSocket, which has no half-closed state. */
export function tunnel(socket: WebSocketConnection): Duplex {
  const messages = socket[Symbol.asyncIterator]();
  let reading = false;
  const stream = new Duplex({
    allowHalfOpen: true,
    read() {
      if (reading) return;
      reading = true;
      void pull();
    },
    write(chunk: Buffer, _encoding, done) {
      socket.send(chunk).then(() => done(), done);
    },
    final(done) {
      socket.close().then(
        () => done(),
        () => done(),
      );
    },
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  async function pull(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await messages.next();
        if (done) {
          stream.push(null);
          return;
        }
        if (!value.binary) throw new ClientError("StreamBroken", "the tunnel carries text");
        if (value.data.length > 0 && !stream.push(value.data)) break;
      }
      reading = false;
    } catch (error) {
      stream.destroy(error as Error);
    }
  }
  return stream;
}
