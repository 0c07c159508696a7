/** IPAddresses of services: as many as there are addresses, for as long as the services are there. */
import { expect, test } from "vitest";
import { Server } from "./harness.ts";

const services = "/api/v1/namespaces/default/services";

test("a service's address is an object while the service has it", async () => {
  await using server = await Server.start();
  const names = async () => {
    const { body } = await server.get("/apis/networking.k8s.io/v1/ipaddresses");
    return body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
  };
  expect(await names()).toEqual(["10.0.0.1"]);
  const service = (name: string, clusterIP: string) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { clusterIP, ports: [{ port: 80 }] },
  });
  await server.post(services, service("a", "10.0.0.7"));
  await server.post(services, service("headless", "None"));
  expect(await names()).toEqual(["10.0.0.1", "10.0.0.7"]);
  const { body } = await server.get("/apis/networking.k8s.io/v1/ipaddresses/10.0.0.7");
  expect(body).toMatchObject({
    metadata: {
      labels: {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
      },
    },
    spec: { parentRef: { resource: "services", namespace: "default", name: "a" } },
  });
  await server.merge(`${services}/a`, { metadata: { labels: { x: "y" } } });
  expect(await names()).toEqual(["10.0.0.1", "10.0.0.7"]);
  await server.del(`${services}/a`);
  expect(await names()).toEqual(["10.0.0.1"]);
});
