import { describe, expect, test } from "vitest";
import { noPolicies } from "./policy-rules.ts";
import type { StoredService } from "./service-registry.ts";
import { type RulesInput, serviceRules } from "./service-rules.ts";

const service = (spec: StoredService["spec"]): StoredService => ({
  ...{ apiVersion: "v1", kind: "Service", spec },
  metadata: {
    name: "s",
    namespace: "n",
    uid: "u",
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
  },
});

function rules(
  spec: StoredService["spec"],
  ready: readonly boolean[],
  over: Partial<RulesInput> = {},
): string {
  return serviceRules({
    registry: {
      services: () => [service(spec)],
      backends: () =>
        ready.map((isReady, index) => ({
          ...{ address: `10.244.0.${index + 2}`, ready: isReady, hostname: undefined, nodeName: "n1" },
          ports: [{ name: "web", port: 8080, protocol: "TCP" }],
        })),
    },
    nodeAddresses: ["10.244.0.1"],
    serviceCidr: "10.96.0.0/16",
    localAddresses: ["10.96.0.1"],
    cuts: [],
    delays: [],
    policies: noPolicies,
    nodePorts: [],
    ...over,
  });
}

const spec = { clusterIP: "10.96.0.7", ports: [{ name: "web", port: 80, nodePort: 30080 }] };

describe("service rules", () => {
  test("an address is balanced over the ready ones only", () => {
    const text = rules(spec, [true, false, true]);
    expect(text).toContain("numgen random mod 2 map { 0 : 10.244.0.2 . 8080, 1 : 10.244.0.4 . 8080 }");
    expect(text).toContain("10.96.0.7 . tcp . 80 : goto svc-0");
  });
  test("its node port answers on the nodes", () => {
    expect(rules(spec, [true])).toContain("10.244.0.1 . tcp . 30080 : goto svc-0");
  });
  test("without anybody behind it, it refuses", () => {
    const text = rules(spec, [false]);
    expect(text).toContain("elements = { 10.96.0.7 . tcp . 80, 10.244.0.1 . tcp . 30080 }");
    expect(text).not.toContain("goto");
  });
  test("affinity sends a client to the same place", () => {
    expect(rules({ ...spec, sessionAffinity: "ClientIP" }, [true, true])).toContain("jhash ip saddr mod 2");
  });
  test("headless services and what the node serves itself have no rules", () => {
    expect(rules({ ...spec, clusterIP: "None" }, [true])).not.toContain("goto");
    expect(rules({ ...spec, clusterIP: "10.96.0.1" }, [true])).not.toContain("goto");
  });
  test("a delayed port is reached through its relay, directly and through services", () => {
    const delay = { address: "10.244.0.2", port: 8080, relayAddress: "10.244.0.1", relayPort: 9 };
    const text = rules(spec, [true], { delays: [delay] });
    expect(text).toContain("ip daddr 10.244.0.2 tcp dport 8080 dnat to 10.244.0.1:9");
    expect(text).toContain("map { 0 : 10.244.0.1 . 9 }");
  });
  test("a host port leads to its pod from the address that was asked for", () => {
    const place = { protocol: "udp", port: 54323, target: "10.244.0.9", targetPort: 8080 };
    const text = rules(spec, [true], {
      nodePorts: [
        { ...place, address: "127.0.0.1" },
        { ...place, address: "127.0.0.1", target: "10.244.0.8" },
        { ...place, address: "10.244.0.1" },
      ],
    });
    expect(text).toContain(
      "elements = { 127.0.0.1 . udp . 54323 : 10.244.0.9 . 8080, 10.244.0.1 . udp . 54323 : 10.244.0.9 . 8080 }",
    );
    expect(text).toContain('iifname != "lo" ip daddr 127.0.0.0/8 drop');
  });
  test("a cut drops what it names", () => {
    const text = rules(spec, [true], {
      cuts: [{ from: "10.244.0.2" }, { from: "10.244.0.3", to: "10.244.0.4" }],
    });
    expect(text).toContain("ip saddr 10.244.0.2 drop");
    expect(text).toContain("ip saddr 10.244.0.3 ip daddr 10.244.0.4 drop");
  });
});
