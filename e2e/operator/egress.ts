/**
 * The real API server's way to pods: it sends what goes to the cluster by HTTP CONNECT to a Unix socket, as it does to
 * konnectivity, and the nodes dial from inside their network.
 */
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { NodeHost } from "@keelson/node";

export interface Egress extends AsyncDisposable {
  /** What kube-apiserver is started with. */
  readonly flags: readonly string[];
  /** From now on pods can be reached. */
  through(nodes: Pick<NodeHost, "dial">): void;
}

export async function startEgress(directory: string): Promise<Egress> {
  const socket = join(directory, "egress.sock");
  const configuration = join(directory, "egress.json");
  let nodes: Pick<NodeHost, "dial"> | undefined;
  const server = createServer((_, response) => void response.writeHead(405).end());
  server.on("connect", async (request, client: Duplex, begun: Buffer) => {
    client.on("error", () => client.destroy());
    const { hostname, port } = new URL(`tcp://${request.url}`);
    try {
      const upstream = await dial(hostname, Number(port), nodes);
      upstream.on("error", () => client.destroy());
      client.on("close", () => upstream.destroy());
      upstream.on("close", () => client.destroy());
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      if (begun.length > 0) upstream.write(begun);
      client.pipe(upstream).pipe(client);
    } catch (error) {
      client.end(`HTTP/1.1 502 ${(error as Error).message.replaceAll(/[\r\n]/g, " ")}\r\n\r\n`);
    }
  });
  server.listen(socket);
  await once(server, "listening");
  const connection = { proxyProtocol: "HTTPConnect", transport: { uds: { udsName: socket } } };
  await writeFile(
    configuration,
    JSON.stringify({
      apiVersion: "apiserver.k8s.io/v1beta1",
      kind: "EgressSelectorConfiguration",
      egressSelections: [{ name: "cluster", connection }],
    }),
  );
  return {
    // With the second it finds the pods of a Service by itself, and dials one of them.
    flags: [`--egress-selector-config-file=${configuration}`, "--enable-aggregator-routing=true"],
    through: (host) => {
      nodes = host;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Kubelets listen on this machine, pods only inside. */
async function dial(host: string, port: number, nodes: Pick<NodeHost, "dial"> | undefined): Promise<Duplex> {
  if (host.startsWith("127.")) {
    const socket = connect({ host, port });
    await once(socket, "connect");
    return socket;
  }
  if (!nodes) throw new Error("there are no nodes yet");
  return await nodes.dial(host, port, AbortSignal.timeout(10_000));
}
