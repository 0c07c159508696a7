/** Stands in for etcd where a suite of Go's envtest starts one: it says that it is well, and our server needs no more. */
import { once } from "node:events";
import { createServer } from "node:http";
import { parseFlags } from "./arguments.ts";

export async function startHealthyEtcd(args: readonly string[]): Promise<AsyncDisposable> {
  const urls = (parseFlags(args).get("listen-client-urls") ?? "http://127.0.0.1:2379").split(",");
  const servers = await Promise.all(
    urls.map(async (text) => {
      const { hostname, port } = new URL(text);
      const server = createServer((request, response) => {
        const isHealth = request.url === "/health" || request.url?.startsWith("/health?");
        response.writeHead(isHealth ? 200 : 404, { "content-type": "application/json" });
        response.end(isHealth ? '{"health":"true","reason":""}' : "");
      });
      server.listen(Number(port), hostname.replace(/^\[|\]$/g, ""));
      await once(server, "listening");
      return server;
    }),
  );
  return {
    async [Symbol.asyncDispose]() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}
