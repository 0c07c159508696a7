/** Leaves HTTP for SPDY or WebSocket, whichever the client asks for. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { webSocketAccept } from "@keelson/client/internal/websocket";

export type Upgrade =
  | { readonly kind: "spdy"; readonly protocol: string; readonly stream: Duplex }
  | { readonly kind: "websocket"; readonly protocol: string; readonly stream: Duplex };

/** Answers 101 with the first of our protocols that the client knows, or 400 and undefined. */
export function acceptUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  protocols: { readonly spdy: readonly string[]; readonly websocket: readonly string[] },
): Upgrade | undefined {
  const wanted = (request.headers.upgrade ?? "").toLowerCase();
  if (head.length > 0) socket.unshift(head);
  if (wanted === "spdy/3.1") {
    const offered = listed(request.headers["x-stream-protocol-version"]);
    const protocol =
      protocols.spdy.find((one) => offered.includes(one)) ?? (offered.length === 0 ? "" : undefined);
    if (protocol === undefined)
      return refuse(
        socket,
        403,
        `unable to negotiate protocol: client supports ${offered}, server supports ${protocols.spdy}`,
      );
    answer(socket, "SPDY/3.1", protocol === "" ? [] : [`X-Stream-Protocol-Version: ${protocol}`]);
    return { kind: "spdy", protocol, stream: socket };
  }
  const key = request.headers["sec-websocket-key"];
  if (wanted === "websocket" && key !== undefined) {
    const offered = listed(request.headers["sec-websocket-protocol"]);
    const protocol =
      protocols.websocket.find((one) => offered.includes(one)) ?? (offered.length === 0 ? "" : undefined);
    if (protocol === undefined)
      return refuse(
        socket,
        403,
        `unable to negotiate protocol: client supports ${offered}, server supports ${protocols.websocket}`,
      );
    answer(socket, "websocket", [
      `Sec-WebSocket-Accept: ${webSocketAccept(key)}`,
      ...(protocol === "" ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
    ]);
    return { kind: "websocket", protocol, stream: socket };
  }
  return refuse(socket, 400, "you must specify an upgrade to SPDY/3.1 or websocket");
}

/** Says no in plain HTTP and ends the connection. */
export function refuse(socket: Duplex, status: number, message: string): undefined {
  const body = `${message}\n`;
  const reasons: Record<number, string> = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
  };
  socket.end(
    `HTTP/1.1 ${status} ${reasons[status] ?? "Internal Server Error"}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  return undefined;
}

function answer(socket: Duplex, upgrade: string, headers: readonly string[]): void {
  socket.write(
    [
      "HTTP/1.1 101 Switching Protocols",
      "Connection: Upgrade",
      `Upgrade: ${upgrade}`,
      ...headers,
      "",
      "",
    ].join("\r\n"),
  );
}

function listed(header: string | string[] | undefined): string[] {
  const lines = typeof header === "string" ? [header] : (header ?? []);
  return lines
    .flatMap((line) => line.split(","))
    .map((one) => one.trim())
    .filter(Boolean);
}
