/** An HTTP proxy on loopback that leads hosts to local ports. */
import { createServer, request as send } from "node:http";
import { type AddressInfo, connect } from "node:net";

export async function startProxy(
  portOf: (host: string) => number | undefined,
): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://nowhere");
    const port = portOf(url.hostname);
    if (port === undefined) {
      response.writeHead(502).end(`no hook answers for ${url.hostname}`);
      return;
    }
    const { method, headers } = request;
    const onward = send(
      { host: "127.0.0.1", port, method, path: `${url.pathname}${url.search}`, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on("error", (error) => response.writeHead(502).end(String(error)));
    request.pipe(onward);
  });
  server.on("connect", (request, socket, head) => {
    const [host = ""] = (request.url ?? "").split(":");
    const port = portOf(host);
    if (port === undefined) {
      socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
      return;
    }
    const onward = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      onward.write(head);
      onward.pipe(socket);
      socket.pipe(onward);
    });
    onward.on("error", () => socket.destroy());
    socket.on("error", () => onward.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
