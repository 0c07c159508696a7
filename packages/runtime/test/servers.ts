/** The API servers that the integration suite runs on. A pass on one does not count for the other. */

import { apiServer } from "@keelson/apiserver";
import { type Client, connect, createClient } from "@keelson/client";
import type { HttpPort } from "@keelson/core";
import { startControlPlane } from "@keelson/reference/control-plane";
import { locateKubernetes } from "@keelson/reference/locate";

export interface ApiServerUnderTest extends AsyncDisposable {
  readonly client: Client;
  /** How many writes to these resources have reached the server so far, from any client and with any answer. */
  writesTo(resources: readonly string[]): Promise<number>;
  /** Present when another process or thread can connect too. */
  readonly kubeconfig?: string;
}

export interface ServerChoice {
  readonly name: string;
  /** Why it cannot run here. */
  readonly missing?: string;
  start(): Promise<ApiServerUnderTest>;
}

const reference = locateKubernetes();

export const servers: readonly ServerChoice[] = [
  {
    name: "the embedded API server",
    start: async () => {
      const server = await apiServer();
      const received: string[] = [];
      const http: HttpPort = {
        request: (request) => {
          if (request.method !== "GET") received.push(request.path);
          return server.http.request(request);
        },
      };
      const client = createClient({ http, fieldManager: "test" });
      return {
        client,
        writesTo: async (resources) =>
          received.filter((path) => path.split(/[/?]/).some((part) => resources.includes(part))).length,
        [Symbol.asyncDispose]: () => server.close(),
      };
    },
  },
  {
    name: "kube-apiserver",
    ...("missing" in reference ? { missing: reference.missing } : {}),
    start: async () => {
      const controlPlane = await startControlPlane();
      const client = await connect({ kubeconfig: controlPlane.kubeconfig, fieldManager: "test" });
      return {
        client,
        kubeconfig: controlPlane.kubeconfig,
        writesTo: async (resources) => {
          const text = String(await client.raw({ path: "/metrics" }));
          return text
            .split("\n")
            .filter(
              (line) => line.startsWith("apiserver_request_total{") && /verb="(?!GET|LIST|WATCH)/.test(line),
            )
            .filter((line) => resources.includes(/resource="([^"]*)"/.exec(line)?.[1] ?? ""))
            .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
        },
        [Symbol.asyncDispose]: async () => {
          await client.close();
          await controlPlane[Symbol.asyncDispose]();
        },
      };
    },
  },
];

/** Tries until it does not throw; the last error is thrown after ten seconds. */
export async function eventually<T>(work: () => Promise<T> | T, timeoutMs = 10_000): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
