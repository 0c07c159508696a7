/** Runs the contract on every API server this machine has, and says which they are. */
import { locateKubernetes } from "@keelson/reference/locate";
import { describe, it } from "vitest";
import { connect, createClient } from "../src/index.ts";
import { clientContract } from "./contract.ts";
import { ConfigMap } from "./kinds.ts";

clientContract("the embedded API server, in process", async () => {
  const { apiServer } = await import("@keelson/apiserver");
  const server = await apiServer();
  return {
    client: createClient({ http: server.http }),
    forget: async () => server.compact(),
    [Symbol.asyncDispose]: async () => await server.close(),
  };
});

const real = locateKubernetes();
if ("missing" in real) {
  describe("client on the real kube-apiserver", () => {
    it.skip(`is not there: ${real.missing}`, () => {});
  });
} else {
  clientContract(`kube-apiserver ${real.version}`, async () => {
    const { startControlPlane } = await import("@keelson/reference/control-plane");
    // Its snapshots would answer for what etcd has forgotten, for a minute or more.
    const flags = { "kube-apiserver": ["--feature-gates=ListFromCacheSnapshot=false"] };
    const plane = await startControlPlane({ flags });
    const client = await connect({ kubeconfig: plane.kubeconfig });
    return {
      client,
      forget: async () => {
        const { resourceVersion: revision } = await client.kind(ConfigMap).list({ namespace: "default" });
        const response = await fetch(`${plane.etcdEndpoint}/v3/kv/compaction`, {
          method: "POST",
          body: JSON.stringify({ revision, physical: true }),
        });
        if (!response.ok) throw new Error(await response.text());
      },
      [Symbol.asyncDispose]: async () => {
        await client.close();
        await plane[Symbol.asyncDispose]();
      },
    };
  });
}
