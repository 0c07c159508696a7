/** The client's half of SOCKS5 (RFC 1928) with user and password (RFC 1929): just enough to reach one server. */
import type { Socket } from "node:net";
import { pieces } from "./pieces.ts";
import type { ServerAddress } from "./server-address.ts";

const version = 5;
const noAuthentication = 0;
const userPassword = 2;
const connectCommand = 1;
const domainName = 3;

const refusals: Readonly<Record<number, string>> = {
  1: "general failure",
  2: "not allowed by its rules",
  3: "network unreachable",
  4: "host unreachable",
  5: "connection refused",
  6: "time to live exceeded",
};

/** Asks the proxy for a connection. The name is resolved by the proxy, which may know names we do not. */
export async function socks5(socket: Socket, proxy: URL, server: ServerAddress): Promise<void> {
  const reader = new Reader(socket);
  const method = proxy.username ? userPassword : noAuthentication;
  socket.write(Buffer.from([version, 1, method]));
  const chosen = await reader.take(2);
  if (chosen[0] !== version || chosen[1] !== method) throw new Error("it wants another way to log in");
  if (method === userPassword) await logIn(socket, reader, proxy);
  const host = Buffer.from(server.host);
  const port = Buffer.from([server.port >> 8, server.port & 0xff]);
  socket.write(
    Buffer.concat([Buffer.from([version, connectCommand, 0, domainName, host.length]), host, port]),
  );
  const answer = await reader.take(4);
  const code = answer[1] ?? 1;
  if (code !== 0) throw new Error(refusals[code] ?? `SOCKS error ${code}`);
  const addressLength = answer[3] === 1 ? 4 : answer[3] === 4 ? 16 : ((await reader.take(1))[0] ?? 0);
  await reader.take(addressLength + 2);
  reader.release();
}

async function logIn(socket: Socket, reader: Reader, proxy: URL): Promise<void> {
  const user = Buffer.from(decodeURIComponent(proxy.username));
  const password = Buffer.from(decodeURIComponent(proxy.password));
  socket.write(
    Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([password.length]), password]),
  );
  const answer = await reader.take(2);
  if (answer[1] !== 0) throw new Error("it refused the user name and password");
}

/** Exactly so many bytes, and the rest given back. */
class Reader {
  readonly #socket: Socket;
  #seen = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  async take(length: number): Promise<Buffer> {
    if (this.#seen.length < length) {
      for await (const chunk of pieces(this.#socket)) {
        this.#seen = Buffer.concat([this.#seen, chunk]);
        if (this.#seen.length >= length) break;
      }
    }
    if (this.#seen.length < length) throw new Error("it closed the connection");
    const taken = this.#seen.subarray(0, length);
    this.#seen = this.#seen.subarray(length);
    return taken;
  }

  release(): void {
    if (this.#seen.length > 0) this.#socket.unshift(this.#seen);
  }
}
