import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createAuthority, createLeaf } from "@keelson/pki";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeAssets } from "./assets.ts";
import { startHealthyEtcd } from "./etcd.ts";
import { standInFlags, startStandIn } from "./kube-apiserver.ts";

const hour = 3_600_000;
const [from, to] = [Date.now() - hour, Date.now() + hour];

describe("the stand-in of kube-apiserver, started as envtest starts it", () => {
  const directory = mkdtempSync(join(tmpdir(), "keelson-envtest-"));
  const authority = createAuthority("envtest", from, to);
  const client = createLeaf(authority, {
    subject: { commonName: "admin", organizations: ["system:masters"] },
    ...{ usages: ["client"], notBeforeMs: from, notAfterMs: to },
  });
  const warnings: string[] = [];
  let server: Awaited<ReturnType<typeof startStandIn>>;

  beforeAll(async () => {
    const serving = createLeaf(authority, {
      subject: { commonName: "localhost" },
      ...{ names: ["127.0.0.1"], usages: ["server"], notBeforeMs: from, notAfterMs: to },
    });
    const files = {
      "apiserver.crt": serving.certificate,
      "apiserver.key": serving.key,
      "client-cert-auth-ca.crt": authority.certificate,
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
    server = await startStandIn(
      [
        ...["--advertise-address=127.0.0.1", "--allow-privileged=true", "--authorization-mode=RBAC"],
        ...["--bind-address=127.0.0.1", `--cert-dir=${directory}`, "--secure-port=0"],
        `--client-ca-file=${join(directory, "client-cert-auth-ca.crt")}`,
        ...["--disable-admission-plugins=ServiceAccount", "--etcd-servers=http://127.0.0.1:1"],
        ...["--service-cluster-ip-range=10.0.0.0/24", "--wonders=true"],
      ],
      (line) => warnings.push(line),
    );
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const ask = async (method: string, path: string, body?: object) => {
    const outgoing = request(`${server.address}${path}`, {
      method,
      ca: authority.certificate,
      cert: client.certificate,
      key: client.key,
      headers: { "content-type": "application/json" },
    });
    outgoing.end(body && JSON.stringify(body));
    const [response] = await once(outgoing, "response");
    let text = "";
    for await (const chunk of response) text += String(chunk);
    return { status: response.statusCode as number, text };
  };

  test("shows the certificate it was given and takes the clients of the authority it was given", async () => {
    expect(await ask("GET", "/readyz")).toEqual({ status: 200, text: "ok" });
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
    expect((await ask("POST", "/api/v1/namespaces/default/configmaps", map)).status).toBe(201);
    expect((await ask("GET", "/api/v1/namespaces/default/services/kubernetes")).text).toContain("10.0.0.1");
  });

  test("says of which flags nothing comes", () => {
    expect(warnings).toEqual(["--wonders has no effect on Keelson's API server"]);
    expect(standInFlags(["--secure-port", "7", "--token-auth-file=t"]).flags).toEqual({
      port: 7,
      tokenAuthFile: "t",
    });
  });
});

test("the stand-in of etcd is healthy", async () => {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const url = `http://127.0.0.1:${(probe.address() as AddressInfo).port}`;
  await new Promise((done) => probe.close(done));
  await using _ = await startHealthyEtcd([`--listen-client-urls=${url}`, "--unsafe-no-fsync=true"]);
  expect(await (await fetch(`${url}/health`)).json()).toEqual({ health: "true", reason: "" });
});

test("the stand-ins print their flags and end, as suites ask them first", async () => {
  const launcher = fileURLToPath(new URL("../../../keelson/bin/keelson.js", import.meta.url));
  const help = async (name: string) =>
    (await promisify(execFile)(process.execPath, [launcher, "envtest", name, "--help"])).stdout;
  expect(await help("kube-apiserver")).toMatch(/^ *--tls-cert-file\b/m);
  expect(await help("kube-apiserver")).not.toMatch(/insecure-port/);
  expect(await help("etcd")).toMatch(/^ *--listen-client-urls\b/m);
});

test("the assets run the command with the program's own arguments", async () => {
  const directory = mkdtempSync(join(tmpdir(), "keelson-assets-"));
  writeAssets({ directory, command: ["/bin/echo", "it's"], env: { PATH: "" } });
  const { stdout } = await promisify(execFile)(join(directory, "kube-apiserver"), ["--secure-port=1", "a b"]);
  expect(stdout).toBe("it's envtest kube-apiserver --secure-port=1 a b\n");
  rmSync(directory, { recursive: true, force: true });
});
