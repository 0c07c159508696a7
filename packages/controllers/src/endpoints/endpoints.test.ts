import { describe, expect, test } from "vitest";
import { node, pod, service } from "../../test/builders.ts";
import { mirror } from "./mirrored-slices.ts";
import { TriggerTimes, targetPort } from "./service-pods.ts";
import { type SliceObject, sliceChanges } from "./slices.ts";
import { subsetsOf, truncated } from "./subsets.ts";

let address = 0;
const backend = (options: Parameters<typeof pod>[0] & { ip?: string } = {}) => {
  const made = pod({ ready: true, node: "n", ...options });
  const podIP = options.ip ?? `10.0.1.${++address}`;
  return { ...made, status: { ...made.status, podIP, podIPs: [{ ip: podIP }] } } as typeof made;
};
const nodes = (name: string) => (name === "n" ? node({ name }) : undefined);

/** What a change leads to, as the server would store it. */
function stored(changes: ReturnType<typeof sliceChanges>): SliceObject[] {
  return [...changes.create, ...changes.update].map(
    (slice, index) =>
      ({
        ...slice,
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { resourceVersion: "1", uid: `s${index}`, name: `svc-${index}`, ...slice.metadata },
      }) as SliceObject,
  );
}

describe("slices", () => {
  const svc = service();

  test("a service without pods has an empty slice, and keeps it", () => {
    const first = sliceChanges(svc, [], [], nodes);
    expect(first.create).toMatchObject([{ addressType: "IPv4", endpoints: [], ports: [] }]);
    expect(sliceChanges(svc, [], stored(first), nodes)).toEqual({ create: [], update: [], remove: [] });
  });

  test("the empty slice is used for the first pods", () => {
    const empty = stored(sliceChanges(svc, [], [], nodes));
    const filled = sliceChanges(svc, [backend()], empty, nodes);
    expect(filled.create).toEqual([]);
    expect(filled.update[0]).toMatchObject({
      metadata: { uid: "s0" },
      endpoints: [{ conditions: { ready: true } }],
    });
  });

  test("nothing is written when nothing changed", () => {
    const pods = [backend(), backend()];
    const before = stored(sliceChanges(svc, pods, [], nodes));
    expect(sliceChanges(svc, pods, before, nodes)).toEqual({ create: [], update: [], remove: [] });
  });

  test("a slice holds a hundred endpoints", () => {
    const many = Array.from({ length: 250 }, () => backend());
    expect(sliceChanges(svc, many, [], nodes).create.map(({ endpoints }) => endpoints?.length)).toEqual([
      100, 100, 50,
    ]);
  });

  test("a pod on its way out is not ready but may still serve", () => {
    const [slice] = sliceChanges(svc, [backend({ deleted: true })], [], nodes).create;
    expect(slice?.endpoints?.[0]?.conditions).toEqual({ ready: false, serving: true, terminating: true });
  });

  test("whatever is not ready is published where that is wanted", () => {
    const open = service({ spec: { publishNotReadyAddresses: true } });
    const [slice] = sliceChanges(open, [backend({ ready: false, phase: "Running" })], [], nodes).create;
    expect(slice?.endpoints?.[0]?.conditions).toEqual({ ready: true, serving: false, terminating: false });
  });

  test("a pod on a node that does not exist is left out", () => {
    const [slice] = sliceChanges(svc, [backend({ node: "gone" })], [], nodes).create;
    expect(slice?.endpoints).toEqual([]);
  });

  test("pods with other ports have slices of their own", () => {
    const named = service({
      spec: { ports: [{ name: "web", port: 80, targetPort: "web", protocol: "TCP" }] },
    });
    const at = (containerPort: number) =>
      backend({
        spec: { containers: [{ name: "m", ports: [{ name: "web", containerPort, protocol: "TCP" }] }] },
      });
    const { create } = sliceChanges(named, [at(1), at(2)], [], nodes);
    expect(create.map(({ ports }) => ports?.[0]?.port).sort()).toEqual([1, 2]);
  });
});

describe("endpoints", () => {
  test("ready and not ready addresses share a subset", () => {
    const subsets = subsetsOf(service(), [backend(), backend({ ready: false, phase: "Running" })]);
    expect(subsets).toHaveLength(1);
    expect(subsets[0]).toMatchObject({
      addresses: [{ targetRef: { kind: "Pod" } }],
      notReadyAddresses: [{ nodeName: "n" }],
      ports: [{ name: "web", port: 8080, protocol: "TCP" }],
    });
  });

  test("a port stands with all addresses that have it, beside those ports that the same ones have", () => {
    const ports = [
      { name: "fixed", port: 1, targetPort: 9000, protocol: "TCP" as const },
      { name: "also", port: 2, targetPort: 9001, protocol: "UDP" as const },
      { name: "named", port: 3, targetPort: "web", protocol: "TCP" as const },
    ];
    const names = { containers: [{ name: "main", ports: [{ name: "web", containerPort: 8080 }] }] };
    const subsets = subsetsOf(service({ spec: { ports } }), [
      backend({ ip: "10.0.2.1", spec: names }),
      backend({ ip: "10.0.2.2" }),
    ]);
    const shown = subsets.map(({ addresses, ports: of }) => [
      addresses?.map(({ ip }) => ip),
      of?.map(({ name }) => name).sort(),
    ]);
    expect(shown).toEqual([
      [
        ["10.0.2.1", "10.0.2.2"],
        ["also", "fixed"],
      ],
      [["10.0.2.1"], ["named"]],
    ]);
  });

  test("ports stand in the order of the real controller", () => {
    const ports = [
      { name: "dns", port: 53, targetPort: 5353, protocol: "UDP" as const },
      { name: "dns-tcp", port: 53, targetPort: 5353, protocol: "TCP" as const },
      {
        name: "http",
        port: 80,
        targetPort: 8080,
        protocol: "TCP" as const,
        appProtocol: "kubernetes.io/h2c",
      },
    ];
    const [subset] = subsetsOf(service({ spec: { ports } }), [backend()]);
    expect(subset?.ports?.map(({ name }) => name)).toEqual(["http", "dns-tcp", "dns"]);
  });

  test("pods that ended, have no address or are leaving are not in it", () => {
    const without = backend();
    const naked = {
      ...without,
      status: { ...without.status, podIP: undefined, podIPs: undefined },
    } as typeof without;
    expect(subsetsOf(service(), [backend({ phase: "Failed" }), naked, backend({ deleted: true })])).toEqual(
      [],
    );
  });

  test("a thousand addresses are enough, ready ones first", () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => ({ ip: `10.0.0.${index}` }));
    const cut = truncated([{ addresses: many(900), notReadyAddresses: many(200) }]);
    expect(cut.isTruncated).toBe(true);
    expect(cut.subsets[0]?.addresses).toHaveLength(900);
    expect(cut.subsets[0]?.notReadyAddresses).toHaveLength(100);
  });
});

test("a port by name is found in containers and in sidecars", () => {
  const sidecar = {
    name: "s",
    restartPolicy: "Always" as const,
    ports: [{ name: "side", containerPort: 7 }],
  };
  const p = pod({ spec: { initContainers: [sidecar] } });
  expect(targetPort(p, { port: 1, targetPort: "side" })).toBe(7);
  expect(targetPort(p, { port: 1, targetPort: "none" })).toBeUndefined();
  expect(targetPort(p, { port: 1 })).toBe(1);
});

test("endpoints are dated by the earliest of the changes since", () => {
  const times = new TriggerTimes();
  const svc = service({ createdAt: 1 });
  expect(times.next(svc, [])).toBe("2026-01-01T00:00:01Z");
  const [a, b] = [backend({ name: "a", readyAt: 5 }), backend({ name: "b", readyAt: 4 })];
  expect(times.next(svc, [a, b])).toBe("2026-01-01T00:00:04Z");
  expect(times.next(svc, [a, b])).toBeUndefined();
});

test("endpoints kept by hand are mirrored, bad addresses left out", () => {
  const endpoints = {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { ...service().metadata, name: "ext" },
    subsets: [{ addresses: [{ ip: "1.2.3.4" }, { ip: "fd00::1" }, { ip: "x" }], ports: [{ port: 80 }] }],
  } as Parameters<typeof mirror>[0];
  const { create, invalid } = mirror(endpoints, []);
  expect(create.map(({ addressType }) => addressType)).toEqual(["IPv4", "IPv6"]);
  expect(invalid).toBe(1);
});
