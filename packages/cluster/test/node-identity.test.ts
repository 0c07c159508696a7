/** Nodes of the embedded cluster: each is itself, and may do what it needs and nothing else. */
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, isForbidden } from "@keelson/client";
import { CertificateSigningRequest, Node, Pod, Secret } from "@keelson/core/kinds";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../src/index.ts";

describe("nodes of the embedded cluster", () => {
  const home = mkdtempSync(join(tmpdir(), "kl-id-"));
  let cluster: Cluster;
  const start = () => startCluster({ nodes: 2, simulate: "always", dataDir: join(home, "data") });
  beforeAll(async () => {
    cluster = await start();
  }, 60_000);
  afterAll(async () => {
    await cluster?.stop();
    rmSync(home, { recursive: true, force: true });
  });
  const file = (node: string) => join(home, "data/node/pki", node, "kubelet-client-current.pem");
  const as = async (node: string) => {
    const pem = readFileSync(file(node), "utf8");
    const credential = { certificate: pem, key: pem };
    const credentials = { current: async () => credential, refused: async () => false };
    return await connect({ kubeconfig: cluster.kubeconfig, credentials });
  };

  test("have asked for their certificates with a bootstrap token", async () => {
    const { items } = await cluster.client.kind(CertificateSigningRequest).list();
    expect(items).toHaveLength(2);
    for (const { spec } of items) {
      expect(spec.username).toMatch(/^system:bootstrap:/);
      expect(spec.signerName).toBe("kubernetes.io/kube-apiserver-client-kubelet");
    }
    for (const node of ["node-1", "node-2"]) expect(statSync(file(node)).mode & 0o777).toBe(0o600);
  });

  test("run pods, and cannot touch each other, read secrets, or make themselves attractive", async () => {
    await cluster.client.kind(Pod).create({
      metadata: { name: "p", namespace: "default" },
      spec: { nodeName: "node-1", containers: [{ name: "c", image: "c" }] },
    });
    await cluster.client.kind(Secret).create({ metadata: { name: "s", namespace: "default" } });
    await using stack = new AsyncDisposableStack();
    const [one, two] = await Promise.all([as("node-1"), as("node-2")]);
    stack.defer(() => one.close());
    stack.defer(() => two.close());
    const ref = { namespace: "default", name: "p" };
    const running = await (async () => {
      for await (const event of cluster.client.kind(Pod).reflect({ namespace: "default" }))
        if ("object" in event && event.object.status?.phase === "Running") return event.object;
      return undefined;
    })();
    expect(running?.spec?.nodeName).toBe("node-1");
    const label = {
      type: "merge",
      body: { metadata: { labels: { "node-role.kubernetes.io/control-plane": "" } } },
    } as const;
    for (const attempt of [
      two.kind(Pod).delete(ref),
      two.kind(Node).patch({ name: "node-1" }, label),
      two.kind(Node).patch({ name: "node-2" }, label),
      one.kind(Secret).get({ namespace: "default", name: "s" }),
      one.kind(Secret).list(),
      one.kind(Pod).create({
        metadata: { name: "q", namespace: "default" },
        spec: { containers: [{ name: "c", image: "c" }] },
      }),
    ]) {
      expect(
        isForbidden(
          await attempt.then(
            () => undefined,
            (error: unknown) => error,
          ),
        ),
      ).toBe(true);
    }
  });

  test("keep their identity over a restart of the cluster", async () => {
    const before = readFileSync(file("node-1"), "utf8");
    await cluster.stop();
    cluster = await start();
    expect(readFileSync(file("node-1"), "utf8")).toBe(before);
  });
});
