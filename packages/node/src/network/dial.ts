/** Connections from the machine into the cluster's network, through the socket of the way in. */
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { NodeError } from "../errors.ts";

const longestAnswer = 512;

/** Rejects in words when the address is not the cluster's own or nobody answers there. */
export async function dialThrough(
  dialSocket: string,
  address: string,
  port: number,
  signal: AbortSignal,
): Promise<Duplex> {
  signal.throwIfAborted();
  const socket = connect({ path: dialSocket, allowHalfOpen: true, noDelay: true });
  const abort = () => socket.destroy(signal.reason instanceof Error ? signal.reason : undefined);
  signal.addEventListener("abort", abort, { once: true });
  try {
    socket.write(`dial ${address} ${port}\n`);
    const answer = await firstLine(socket);
    if (answer !== "ok") throw new NodeError("Unreachable", `cannot dial ${address}:${port}: ${answer}`);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** What follows the line stays in the socket, which is left neither flowing nor paused, for the next reader. */
function firstLine(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    const stop = () => socket.off("readable", read).off("error", fail).off("end", ended).off("close", ended);
    const fail = (error: Error) => {
      stop();
      reject(error);
    };
    const ended = () => fail(new NodeError("Unreachable", "the cluster's network is gone"));
    const read = () => {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf(0x0a);
      if (end < 0 && head.length < longestAnswer) return;
      stop();
      if (end >= 0 && head.length > end + 1) socket.unshift(head.subarray(end + 1));
      resolve(head.toString("utf8", 0, end < 0 ? undefined : end));
    };
    socket.on("readable", read).on("error", fail).on("end", ended).on("close", ended);
  });
}
