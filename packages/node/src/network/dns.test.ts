import { Resolver } from "node:dns/promises";
import { type AddressInfo, createServer } from "node:net";
import { systemRandom } from "@keelson/core";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeAnswer, parseQuestion, recordType } from "./dns-message.ts";
import { resolveName } from "./dns-records.ts";
import { DnsServer } from "./dns-server.ts";
import type { Backend, ServiceRegistry, StoredService } from "./service-registry.ts";

const service = (name: string, spec: StoredService["spec"]): StoredService => ({
  ...{ apiVersion: "v1", kind: "Service", spec },
  metadata: {
    name,
    namespace: "shop",
    uid: name,
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
  },
});
const services = [
  service("web", { clusterIP: "10.96.0.7", ports: [{ name: "http", port: 80 }] }),
  service("db", { clusterIP: "None", ports: [{ name: "client", port: 5432 }] }),
  service("late", { clusterIP: "None", publishNotReadyAddresses: true }),
  service("empty", { clusterIP: "None" }),
  service("else", { type: "ExternalName", externalName: "web.shop.svc.cluster.local" }),
];
const backend = (address: string, ready: boolean, hostname?: string): Backend => ({
  ...{ address, ready, hostname, nodeName: "n1" },
  ports: [{ name: "client", port: 5432, protocol: "TCP" }],
});
const backends: Record<string, Backend[]> = {
  db: [
    backend("10.244.0.5", true, "db-0"),
    backend("10.244.0.6", false, "db-1"),
    backend("10.244.0.7", true),
  ],
  late: [backend("10.244.0.6", false, "late-0")],
};
const registry = {
  services: () => services,
  service: (_: string, name: string) => services.find(({ metadata }) => metadata.name === name),
  backends: (_: string, name: string) => backends[name] ?? [],
  ownersOf: (address: string) =>
    address === "10.244.0.5" ? [{ service: services[1], backend: backends.db?.[0] }] : [],
} as unknown as ServiceRegistry;
const server = { registry, domain: "cluster.local" };
const ask = (name: string, type: number = recordType.A) => resolveName(server, name, type);
const addresses = (name: string) =>
  ask(name)?.answers.flatMap(({ data }) => (data.type === "A" ? [data.address] : []));

describe("names of the cluster", () => {
  test("a service is its address", () =>
    expect(addresses("web.shop.svc.cluster.local")).toEqual(["10.96.0.7"]));
  test("case does not matter, and the answer keeps it", () => {
    expect(ask("WEB.shop.svc.cluster.local")?.answers[0]?.name).toBe("WEB.shop.svc.cluster.local");
  });
  test("a headless service is its ready endpoints", () => {
    expect(addresses("db.shop.svc.cluster.local")).toEqual(["10.244.0.5", "10.244.0.7"]);
  });
  test("an endpoint has its host name, or its address with dashes", () => {
    expect(addresses("db-0.db.shop.svc.cluster.local")).toEqual(["10.244.0.5"]);
    expect(addresses("10-244-0-7.db.shop.svc.cluster.local")).toEqual(["10.244.0.7"]);
  });
  test("one that is not ready has no name, unless the service says so", () => {
    expect(ask("db-1.db.shop.svc.cluster.local")?.code).toBe(3);
    expect(addresses("late-0.late.shop.svc.cluster.local")).toEqual(["10.244.0.6"]);
  });
  test("what is not there is not there", () => {
    for (const name of ["nope.shop.svc", "empty.shop.svc", "a.b.c.svc", "x"])
      expect(ask(`${name}.cluster.local`)?.code).toBe(3);
  });
  test("a name without a record of that type exists all the same", () => {
    expect(ask("web.shop.svc.cluster.local", recordType.AAAA)).toMatchObject({ code: 0, answers: [] });
    expect(ask("svc.cluster.local")).toMatchObject({ code: 0, answers: [] });
  });
  test("ports are service records that lead to names that lead to addresses", () => {
    const found = ask("_client._tcp.db.shop.svc.cluster.local", recordType.SRV);
    expect(found?.answers.map(({ data }) => data)).toEqual([
      { type: "SRV", priority: 0, weight: 100, port: 5432, target: "db-0.db.shop.svc.cluster.local" },
      { type: "SRV", priority: 0, weight: 100, port: 5432, target: "10-244-0-7.db.shop.svc.cluster.local" },
    ]);
    expect(found?.additional?.map(({ name }) => name)).toEqual([
      "db-0.db.shop.svc.cluster.local",
      "10-244-0-7.db.shop.svc.cluster.local",
    ]);
  });
  test("an external name is an alias, followed inside the cluster", () => {
    expect(ask("else.shop.svc.cluster.local")?.answers.map(({ data }) => data.type)).toContain("CNAME");
    expect(addresses("else.shop.svc.cluster.local")).toEqual(["10.96.0.7"]);
  });
  test("a pod's address is in its name", () => {
    expect(addresses("10-244-0-9.shop.pod.cluster.local")).toEqual(["10.244.0.9"]);
  });
  test("an address leads back to its name", () => {
    expect(ask("5.0.244.10.in-addr.arpa", recordType.PTR)?.answers[0]?.data).toEqual({
      type: "PTR",
      target: "db-0.db.shop.svc.cluster.local",
    });
  });
  test("other names are none of ours", () => expect(ask("example.com")).toBeUndefined());
});

describe("the name server", () => {
  let running: DnsServer;
  const resolver = new Resolver({ tries: 1, timeout: 2000 });
  beforeAll(async () => {
    running = await DnsServer.start({
      ...server,
      address: "127.0.0.1",
      port: 0,
      random: { next: () => 0.6 } as never,
    });
    resolver.setServers([`127.0.0.1:${running.port}`]);
  });
  afterAll(() => running.close());

  test("a resolver that we did not write understands it", async () => {
    expect((await resolver.resolve4("db.shop.svc.cluster.local")).sort()).toEqual([
      "10.244.0.5",
      "10.244.0.7",
    ]);
    expect(await resolver.resolveSrv("_client._tcp.db.shop.svc.cluster.local")).toHaveLength(2);
    expect(await resolver.reverse("10.244.0.5")).toEqual(["db-0.db.shop.svc.cluster.local"]);
    expect(await resolver.resolveTxt("dns-version.cluster.local")).toEqual([["1.1.0"]]);
    await expect(resolver.resolve4("nope.shop.svc.cluster.local")).rejects.toMatchObject({
      code: "ENOTFOUND",
    });
    await expect(resolver.resolve6("web.shop.svc.cluster.local")).rejects.toMatchObject({ code: "ENODATA" });
  });

  test("a port that is taken for connections is given back for datagrams", async () => {
    const quiet = "127.0.77.1"; // nobody else connects from there
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, quiet, resolve));
    const { port } = taken.address() as AddressInfo;
    const start = () => DnsServer.start({ ...server, address: quiet, port, random: systemRandom });
    await expect(start()).rejects.toMatchObject({ code: "EADDRINUSE", syscall: "listen" });
    await new Promise((resolve) => taken.close(resolve));
    await (await start()).close();
  });

  test("an answer too large for one datagram is fetched over a connection", async () => {
    backends.db = Array.from({ length: 300 }, (_, i) =>
      backend(`10.244.${Math.floor(i / 250)}.${(i % 250) + 1}`, true),
    );
    expect(await resolver.resolve4("db.shop.svc.cluster.local")).toHaveLength(300);
  });
});

test("no packet does harm, whatever is in it", () => {
  const label = fc.uint8Array({ minLength: 1, maxLength: 63 }).map((bytes) => [bytes.length, ...bytes]);
  const question = fc
    .tuple(
      fc.uint8Array({ minLength: 2, maxLength: 4 }),
      fc.array(label, { maxLength: 200 }),
      fc.uint8Array(),
    )
    .map(([head, labels, tail]) =>
      Buffer.from([...head.slice(0, 2), 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, ...labels.flat(), 0, ...tail]),
    );
  const packet = fc.oneof(fc.uint8Array({ maxLength: 600 }), question);
  fc.assert(
    fc.property(packet, (bytes) => {
      const parsed = parseQuestion(Buffer.from(bytes));
      if (parsed === undefined) return;
      const answer = resolveName(server, parsed.name, parsed.type) ?? { code: 3, answers: [] };
      expect(encodeAnswer(parsed, answer, parsed.payloadSize).length).toBeLessThan(65_536);
    }),
  );
});
