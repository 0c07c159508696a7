/** Reads a socket by hand, before anyone else takes it over. */
import type { Socket } from "node:net";

/** The socket's chunks, without destroying it when the loop is left. */
export async function* pieces(socket: Socket): AsyncGenerator<Buffer> {
  for (;;) {
    const chunk = socket.read() as Buffer | null;
    if (chunk !== null) {
      yield chunk;
      continue;
    }
    if (socket.readableEnded || socket.destroyed) return;
    await new Promise<void>((resolve, reject) => {
      const done = () => {
        socket.off("readable", done).off("end", done).off("error", fail).off("close", done);
        resolve();
      };
      const fail = (error: Error) => {
        done();
        reject(error);
      };
      socket.once("readable", done).once("end", done).once("close", done).once("error", fail);
    });
  }
}
