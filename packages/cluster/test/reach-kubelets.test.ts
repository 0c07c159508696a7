/** Each node's API has the port that clients of a kubelet expect: through the API server and in the cluster's network. */
import { connect } from "node:tls";
import { isApiError } from "@keelson/client";
import { Node, Pod } from "@keelson/core/kinds";
import { afterAll, describe, expect, test } from "vitest";
import { startCluster } from "../src/cluster.ts";

const cluster = await startCluster({ nodes: 2 });
afterAll(() => cluster.stop(), 60_000);

const get = async (path: string): Promise<unknown> => {
  try {
    return await cluster.client.raw({ method: "GET", path });
  } catch (error) {
    if (isApiError(error)) return error.code;
    throw error;
  }
};

describe("the kubelet of each node", () => {
  test("is reached by the node's name, alone and with the kubelet's port", async () => {
    for (const { metadata } of (await cluster.client.kind(Node).list()).items) {
      const name = metadata.name ?? "";
      for (const text of [name, `${name}:10250`, `https:${name}:10250`]) {
        const found = await get(`/api/v1/nodes/${text}/proxy/stats/summary`);
        expect(found, text).toMatchObject({ node: { nodeName: name } });
      }
      // Another port of the node, on which nothing listens.
      expect(await get(`/api/v1/nodes/${name}:10251/proxy/pods`)).toBe(503);
    }
  });

  test("shows a certificate for the address that the node's status names", async () => {
    for (const { status } of (await cluster.client.kind(Node).list()).items) {
      const host = status?.addresses?.find(({ type }) => type === "InternalDNS")?.address ?? "";
      const names = await new Promise<string | undefined>((resolve, reject) => {
        const socket = connect({ host, port: 10250, rejectUnauthorized: false }, () => {
          resolve(socket.getPeerCertificate().subjectaltname);
          socket.destroy();
        }).once("error", reject);
      });
      expect(names).toContain(`IP Address:${host}`);
    }
  });
});

describe.skipIf(cluster.pods !== "real")("a pod", () => {
  test("asks the kubelet at its node's address, which asks who it is", async () => {
    const pods = cluster.client.kind(Pod);
    const ask = `
      const question = (path) => new Promise((resolve, reject) => require("node:https")
        .get({ host: process.env.NODE_IP, port: 10250, path, rejectUnauthorized: false }, ({ statusCode }) => resolve(statusCode))
        .once("error", reject));
      Promise.all(["/healthz", "/pods"].map(question)).then((codes) => console.log(codes.join(" ")));`;
    await pods.create({
      metadata: { name: "ask", namespace: "default" },
      spec: {
        restartPolicy: "Never",
        containers: [
          {
            name: "ask",
            image: "node",
            command: ["node", "-e", ask],
            env: [{ name: "NODE_IP", valueFrom: { fieldRef: { fieldPath: "status.hostIP" } } }],
          },
        ],
      },
    });
    for await (const event of pods.reflect({ namespace: "default", fields: "metadata.name=ask" })) {
      if (!("object" in event)) continue;
      const { phase } = event.object.status ?? {};
      if (phase === "Succeeded" || phase === "Failed") break;
    }
    expect(await get("/api/v1/namespaces/default/pods/ask/log")).toBe("200 401\n");
  }, 120_000);
});
