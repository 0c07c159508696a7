/** Ways through the server to places that are none of the client's business. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { ApiTarget } from "./api-target.ts";
import type { Attack } from "./attack.ts";

const core = "/api/v1/namespaces/default";
const discovery = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

/** A server on this machine's loopback that nobody in the cluster is to reach. */
class Canary implements AsyncDisposable {
  readonly #server: Server;
  visits = 0;

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", (_, response) => {
      this.visits++;
      response.end("canary");
    });
  }

  static async start(): Promise<Canary> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Canary(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Runs with a canary; what it got is what the attacker got. */
const reaching = (
  id: string,
  tries: string,
  run: (target: ApiTarget, port: number) => Promise<void>,
): Attack<ApiTarget> => ({
  id,
  tries,
  async run(target) {
    await using canary = await Canary.start();
    await run(target, canary.port);
    return canary.visits > 0 ? "reached a server on the machine's loopback" : undefined;
  },
});

const loopbacks = ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "169.254.169.254"];

async function pod(target: ApiTarget, name: string, address: string): Promise<void> {
  await target.ask(`${core}/pods/${name}?gracePeriodSeconds=0`, { method: "DELETE" });
  await target.mustCreate(`${core}/pods`, {
    metadata: { name },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  await target.ask(`${core}/pods/${name}/status`, {
    method: "PATCH",
    type: "application/merge-patch+json",
    body: { status: { phase: "Running", podIP: address, podIPs: [{ ip: address }] } },
  });
}

async function service(target: ApiTarget, address: string, port: number): Promise<void> {
  await target.ask(`${core}/services/lure`, { method: "DELETE" });
  await target.ask(`${discovery}/lure`, { method: "DELETE" });
  await target.mustCreate(`${core}/services`, {
    metadata: { name: "lure" },
    spec: { ports: [{ name: "p", port: 80 }] },
  });
  await target.ask(discovery, {
    method: "POST",
    body: {
      metadata: { name: "lure", labels: { "kubernetes.io/service-name": "lure" } },
      addressType: address.includes(":") ? "IPv6" : "IPv4",
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
      ports: [{ name: "p", port, protocol: "TCP" }],
    },
  });
}

export const proxyAttacks: readonly Attack<ApiTarget>[] = [
  ...loopbacks.flatMap((address, index) => [
    reaching(
      `pod at ${address}`,
      `proxies to a pod that says its address is ${address}`,
      async (target, port) => {
        await pod(target, `lure-${index}`, address);
        await target
          .ask(`${core}/pods/lure-${index}:${port}/proxy/`, { withinMs: 5_000 })
          .catch(() => undefined);
      },
    ),
    reaching(
      `service at ${address}`,
      `proxies to a service whose endpoint is ${address}`,
      async (target, port) => {
        await service(target, address, port);
        await target.ask(`${core}/services/lure:p/proxy/`, { withinMs: 5_000 }).catch(() => undefined);
      },
    ),
  ]),
  reaching(
    "webhook behind a service",
    "calls a webhook of a service whose endpoint is loopback",
    async (target, port) => {
      await service(target, "127.0.0.1", port);
      const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
      await target.mustCreate(path, {
        metadata: { name: "lure" },
        webhooks: [
          {
            name: "lure.example.com",
            clientConfig: { service: { namespace: "default", name: "lure" } },
            rules: [
              { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["limitranges"] },
            ],
            sideEffects: "None",
            admissionReviewVersions: ["v1"],
            failurePolicy: "Ignore",
            timeoutSeconds: 2,
          },
        ],
      });
      await target.ask(`${core}/limitranges`, {
        method: "POST",
        body: { metadata: { name: "x" }, spec: { limits: [] } },
      });
      await target.ask(`${path}/lure`, { method: "DELETE" });
    },
  ),
  {
    id: "the server itself",
    tries: "asks the server through the service kubernetes, to be taken for the server",
    async run(target) {
      const path = `${core}/services/https:kubernetes:https/proxy/apis/authentication.k8s.io/v1/selfsubjectreviews`;
      const { status, body } = await target.ask(path, {
        method: "POST",
        body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
        withinMs: 5_000,
      });
      const groups: string[] = body?.status?.userInfo?.groups ?? [];
      return status === 201 && groups.includes("system:masters") ? "is an administrator" : undefined;
    },
  },
];
