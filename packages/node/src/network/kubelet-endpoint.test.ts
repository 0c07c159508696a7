import { describe, expect, test } from "vitest";
import { openKubeletEndpoint } from "./kubelet-endpoint.ts";
import type { Endpoint } from "./relay.ts";

/** A machine on which these addresses have the port in use, or any other reason. */
function machine(refuse: (host: string) => string | undefined) {
  return (endpoint: Endpoint) => {
    if ("path" in endpoint) throw new Error("not a Unix socket");
    const code = endpoint.port === 0 ? undefined : refuse(endpoint.host);
    if (code !== undefined) return Promise.reject(Object.assign(new Error(code), { code }));
    return Promise.resolve({ port: endpoint.port || 34567 });
  };
}

describe("a node's endpoint on the machine", () => {
  test("is the kubelet's port at a loopback address that no other node has", async () => {
    const taken = new Set<string>();
    const open = machine((host) => (taken.has(host) ? "EADDRINUSE" : void taken.add(host)));
    const endpoints = await Promise.all([1, 2, 3].map(() => openKubeletEndpoint(open)));
    expect(new Set(endpoints.map(({ address }) => address)).size).toBe(3);
    for (const { address, port } of endpoints) expect([address.slice(0, 4), port]).toEqual(["127.", 10250]);
  });

  test.for([
    ["a kubelet of the machine's own has the port everywhere", "EADDRINUSE"],
    ["there are no such addresses", "EADDRNOTAVAIL"],
    ["the addresses may not be used", "EACCES"],
  ] as const)("is any port where %s", async ([, code]) => {
    expect(await openKubeletEndpoint(machine(() => code))).toMatchObject({
      address: "127.0.0.1",
      port: 34567,
    });
  });

  test("is not looked for further after another failure", async () => {
    await expect(openKubeletEndpoint(machine(() => "EMFILE"))).rejects.toThrow("EMFILE");
  });
});
