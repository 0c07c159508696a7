/** How a node gets its own identity: bootstrap token, certificate request, certificate. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningApiServer, startApiServer } from "@keelson/apiserver";
import { createClient, systemWorld } from "@keelson/client";
import { CertificateSigningRequest, ConfigMap, Node } from "@keelson/core/kinds";
import { silentLogger } from "@keelson/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startControllers } from "../src/index.ts";
import { until } from "./control-planes.ts";

interface Identity {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
}

describe("a node that joins", () => {
  const stack = new AsyncDisposableStack();
  let server: RunningApiServer;
  let directory: string;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "keelson-joining-"));
    stack.defer(() => rmSync(directory, { recursive: true, force: true }));
    server = stack.use(await startApiServer({ port: 0, dataDir: join(directory, "data") }));
    const client = createClient({ http: server.api.http });
    stack.use(
      await startControllers({
        client,
        authority: server.authority,
        volumesDirectory: join(directory, "volumes"),
        world: systemWorld,
        log: silentLogger,
      }),
    );
    await client.kind(Node).create({ metadata: { name: "m" } });
    await client.kind(ConfigMap).create({ metadata: { name: "c", namespace: "default" } });
  });
  afterAll(() => stack.disposeAsync());

  /** Over TLS, as a node does. */
  const send = ({ token, cert, key }: Identity, method: string, path: string, body?: object) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const outgoing = request(
        `${server.address}${path}`,
        {
          method,
          ca: server.authority.certificate,
          cert,
          key,
          agent: false,
          headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("end", () =>
            resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
          );
        },
      );
      outgoing.on("error", reject);
      outgoing.end(body && JSON.stringify(body));
    });

  /** A key of the node's own, and a request for a certificate of this subject. */
  function keyAndRequest(subject: string): { key: string; csr: string } {
    const key = join(directory, "node.key");
    execFileSync("openssl", ["ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", key]);
    const csr = execFileSync("openssl", ["req", "-new", "-key", key, "-subj", subject], { encoding: "utf8" });
    return { key: readFileSync(key, "utf8"), csr };
  }

  const asking = (name: string, csr: string) => ({
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name },
    spec: {
      request: Buffer.from(csr).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      usages: ["digital signature", "client auth"],
    },
  });
  const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  const bootstrap = (): Identity => ({
    token: JSON.parse(readFileSync(server.bootstrapKubeconfig, "utf8")).users[0].user.token,
  });
  const admin = () => createClient({ http: server.api.http });

  async function joined(name: string, as: Identity): Promise<Identity> {
    const { key, csr } = keyAndRequest("/O=system:nodes/CN=system:node:n");
    expect((await send(as, "POST", requests, asking(name, csr))).status).toBe(201);
    const signed = await until(admin(), CertificateSigningRequest, { name }, (found) =>
      Boolean(found?.status?.certificate),
    );
    return { key, cert: Buffer.from(signed.status?.certificate ?? "", "base64").toString() };
  }

  it("has its request approved and signed, and is itself from then on", async () => {
    const node = await joined("first", bootstrap());
    expect((await send(node, "POST", "/api/v1/nodes", { metadata: { name: "n" } })).status).toBe(201);
    expect((await send(node, "GET", "/api/v1/nodes/n")).status).toBe(200);
    expect((await send(node, "PUT", "/api/v1/nodes/m", { metadata: { name: "m" } })).status).toBe(403);
    expect((await send(node, "POST", "/api/v1/nodes", { metadata: { name: "o" } })).status).toBe(403);
    expect((await send(node, "GET", "/api/v1/namespaces/default/configmaps/c")).status).toBe(403);
    expect((await send(node, "GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn")).status).toBe(200);
    // With its own certificate it asks for the next one, and needs no token.
    const renewed = await joined("second", node);
    expect((await send(renewed, "GET", "/api/v1/nodes/n")).status).toBe(200);
  });

  it("is not approved for an identity that is no node's", async () => {
    const { csr } = keyAndRequest("/O=system:masters/CN=admin");
    expect((await send(bootstrap(), "POST", requests, asking("greedy", csr))).status).toBe(201);
    // What comes later has been seen to: this one was looked at, too.
    await joined("after", bootstrap());
    const left = await admin().kind(CertificateSigningRequest).get({ name: "greedy" });
    expect(left.status?.certificate).toBeUndefined();
    expect(left.status?.conditions ?? []).not.toContainEqual(expect.objectContaining({ type: "Approved" }));
  });
});
