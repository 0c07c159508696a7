import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createSecureServer } from "node:http2";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, describe, expect, it } from "vitest";
import { createTransport, type TransportSettings } from "./transport.ts";

const folder = mkdtempSync(join(tmpdir(), "keelson-tls-"));
const cleanups: (() => void)[] = [];
afterAll(() => {
  for (const cleanup of cleanups) cleanup();
  rmSync(folder, { recursive: true });
});

/** A self-signed certificate that serves as its own authority. */
function certificate(name: string, alternatives: string): { cert: string; key: string } {
  const at = (ending: string) => join(folder, `${name}.${ending}`);
  execFileSync(
    "openssl",
    [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-days",
      "2",
      "-subj",
      `/CN=${name}`,
    ].concat(["-addext", `subjectAltName=${alternatives}`, "-keyout", at("key"), "-out", at("crt")]),
    { stdio: "ignore" },
  );
  return { cert: readFileSync(at("crt"), "utf8"), key: readFileSync(at("key"), "utf8") };
}

const hasOpenssl = (() => {
  try {
    execFileSync("openssl", ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

describe.skipIf(!hasOpenssl)(`TLS${hasOpenssl ? "" : ": there is no openssl"}`, async () => {
  if (!hasOpenssl) return;
  const server = certificate("server", "DNS:api.internal,IP:127.0.0.1");
  const named = certificate("named", "DNS:api.internal");
  const [alice, bob] = [certificate("alice", "DNS:alice"), certificate("bob", "DNS:bob")];

  async function listen(identity: { cert: string; key: string }): Promise<string> {
    const listening = createServer(
      { ...identity, ca: [alice.cert, bob.cert], requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        const peer = (request.socket as TLSSocket).getPeerCertificate();
        response.end(peer.subject?.CN ?? "nobody");
      },
    );
    listening.listen(0, "127.0.0.1");
    await once(listening, "listening");
    cleanups.push(() => {
      listening.closeAllConnections();
      listening.close();
    });
    return `https://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  }

  async function ask(address: string, settings: Partial<TransportSettings> = {}): Promise<string> {
    const transport = createTransport({ server: address, ...settings });
    try {
      const response = await transport.request({ method: "GET", path: "/" });
      let said = "";
      for await (const chunk of response.body) said += Buffer.from(chunk).toString();
      return said;
    } finally {
      await transport.close();
    }
  }

  const address = await listen(server);
  const namedAddress = await listen(named);

  it("trusts a server that the cluster's authority signed, and no other", async () => {
    expect(await ask(address, { ca: server.cert })).toBe("nobody");
    await expect(ask(address, { ca: named.cert })).rejects.toMatchObject({
      code: "ServerUntrusted",
      message: expect.stringMatching(
        /cannot be trusted: its certificate .*; check the cluster's certificate-authority/,
      ),
    });
    await expect(ask(address)).rejects.toMatchObject({ code: "ServerUntrusted" });
    expect(await ask(address, { insecure: true })).toBe("nobody");
  });

  it("checks the name in the certificate, or the one it was told", async () => {
    await expect(ask(namedAddress, { ca: named.cert })).rejects.toMatchObject({
      code: "ServerUntrusted",
      message: expect.stringContaining("set the cluster's tls-server-name"),
    });
    expect(await ask(namedAddress, { ca: named.cert, serverName: "api.internal" })).toBe("nobody");
  });

  it("shows its client certificate, and the next one from the request after it changed", async () => {
    let current = alice;
    const transport = createTransport({
      server: address,
      ca: server.cert,
      credentials: {
        current: async () => ({ certificate: current.cert, key: current.key }),
        refused: async () => false,
      },
    });
    const who = async () => {
      const { body } = await transport.request({ method: "GET", path: "/" });
      let said = "";
      for await (const chunk of body) said += Buffer.from(chunk).toString();
      return said;
    };
    expect(await who()).toBe("alice");
    current = bob;
    expect(await who()).toBe("bob");
    await transport.close();
  });

  it("follows an authority that is replaced: at the next reading, and at once when the server is not trusted", async () => {
    let file = named.cert;
    let known = file;
    const transport = createTransport({
      server: address,
      // As a file that is read now and then, and again when told that what was read did not do.
      ca: {
        read: async () => known,
        expire: () => {
          known = file;
        },
      },
    });
    const ask = async () => (await transport.request({ method: "GET", path: "/" })).status;
    await expect(ask()).rejects.toMatchObject({ code: "ServerUntrusted" });
    file = server.cert;
    await expect(ask()).rejects.toMatchObject({ code: "ServerUntrusted" });
    expect(await ask()).toBe(200);
    known = named.cert;
    await expect(ask()).rejects.toMatchObject({ code: "ServerUntrusted" });
    await transport.close();
  });

  it("says which certificate cannot be read", async () => {
    await expect(ask(address, { ca: "rubbish" })).rejects.toThrow(
      "the cluster's certificate-authority cannot be used",
    );
    const credentials = {
      current: async () => ({ certificate: "rubbish", key: alice.key }),
      refused: async () => false,
    };
    await expect(ask(address, { ca: server.cert, credentials })).rejects.toMatchObject({
      code: "CertificateUnreadable",
      message: expect.stringContaining("the client certificate and its key cannot be used"),
    });
    const mixed = { ...credentials, current: async () => ({ certificate: alice.cert, key: bob.key }) };
    await expect(ask(address, { ca: server.cert, credentials: mixed })).rejects.toMatchObject({
      code: "CertificateUnreadable",
    });
  });

  it("says that a plain server speaks no TLS", async () => {
    const { createServer: createPlain } = await import("node:http");
    const plain = createPlain().listen(0, "127.0.0.1");
    await once(plain, "listening");
    cleanups.push(() => plain.close());
    const where = `https://127.0.0.1:${(plain.address() as AddressInfo).port}`;
    await expect(ask(where, { ca: server.cert })).rejects.toMatchObject({ code: "ConnectionFailed" });
  });

  it("uses HTTP/2 only when told to", async () => {
    const both = createSecureServer({ ...server, allowHTTP1: true }, (request, response) => {
      response.end(request.httpVersion);
    });
    both.listen(0, "127.0.0.1");
    await once(both, "listening");
    cleanups.push(() => both.close());
    const where = `https://127.0.0.1:${(both.address() as AddressInfo).port}`;
    expect(await ask(where, { ca: server.cert })).toBe("1.1");
    expect(await ask(where, { ca: server.cert, http2: true })).toBe("2.0");
  });
});
