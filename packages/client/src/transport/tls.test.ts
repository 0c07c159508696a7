import { once } from "node:events";
import { createSecureServer } from "node:http2";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { createAuthority, createLeaf } from "@keelson/pki";
import { afterAll, describe, expect, it } from "vitest";
import { createTransport, type TransportSettings } from "./transport.ts";

const cleanups: (() => void)[] = [];
afterAll(() => {
  for (const cleanup of cleanups) cleanup();
});

interface Identity {
  /** The certificate of the authority that signed `cert`. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** A certificate by an authority of its own. */
function identity(commonName: string, ...names: string[]): Identity {
  const [notBeforeMs, notAfterMs] = [Date.now() - 60_000, Date.now() + 3600_000];
  const authority = createAuthority(`${commonName}-ca`, notBeforeMs, notAfterMs);
  const { certificate: cert, key } = createLeaf(authority, {
    subject: { commonName },
    names,
    usages: ["server", "client"],
    notBeforeMs,
    notAfterMs,
  });
  return { ca: authority.certificate, cert, key };
}

describe("TLS", async () => {
  const server = identity("server", "api.internal", "127.0.0.1");
  const named = identity("named", "api.internal");
  const [alice, bob] = [identity("alice"), identity("bob")];

  async function listen({ cert, key }: Identity): Promise<string> {
    const listening = createServer(
      { cert, key, ca: [alice.ca, bob.ca], requestCert: true, rejectUnauthorized: false },
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

  it("trusts the server's own certificate where that is what was given, as kubectl does", async () => {
    expect(await ask(address, { ca: server.cert })).toBe("nobody");
    await expect(ask(address, { ca: named.cert })).rejects.toThrow();
  });
  const namedAddress = await listen(named);

  it("trusts a server that the cluster's authority signed, and no other", async () => {
    expect(await ask(address, { ca: server.ca })).toBe("nobody");
    await expect(ask(address, { ca: named.ca })).rejects.toMatchObject({
      code: "ServerUntrusted",
      message: expect.stringMatching(
        /cannot be trusted: its certificate .*; check the cluster's certificate-authority/,
      ),
    });
    await expect(ask(address)).rejects.toMatchObject({ code: "ServerUntrusted" });
    expect(await ask(address, { insecure: true })).toBe("nobody");
  });

  it("checks the name in the certificate, or the one it was told", async () => {
    await expect(ask(namedAddress, { ca: named.ca })).rejects.toMatchObject({
      code: "ServerUntrusted",
      message: expect.stringContaining("set the cluster's tls-server-name"),
    });
    expect(await ask(namedAddress, { ca: named.ca, serverName: "api.internal" })).toBe("nobody");
  });

  it("shows its client certificate, and the next one from the request after it changed", async () => {
    let current = alice;
    const transport = createTransport({
      server: address,
      ca: server.ca,
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
    let file = named.ca;
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
    file = server.ca;
    await expect(ask()).rejects.toMatchObject({ code: "ServerUntrusted" });
    expect(await ask()).toBe(200);
    known = named.ca;
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
    await expect(ask(address, { ca: server.ca, credentials })).rejects.toMatchObject({
      code: "CertificateUnreadable",
      message: expect.stringContaining("the client certificate and its key cannot be used"),
    });
    const mixed = { ...credentials, current: async () => ({ certificate: alice.cert, key: bob.key }) };
    await expect(ask(address, { ca: server.ca, credentials: mixed })).rejects.toMatchObject({
      code: "CertificateUnreadable",
    });
  });

  it("says that a plain server speaks no TLS", async () => {
    const { createServer: createPlain } = await import("node:http");
    const plain = createPlain().listen(0, "127.0.0.1");
    await once(plain, "listening");
    cleanups.push(() => plain.close());
    const where = `https://127.0.0.1:${(plain.address() as AddressInfo).port}`;
    await expect(ask(where, { ca: server.ca })).rejects.toMatchObject({ code: "ConnectionFailed" });
  });

  it("uses HTTP/2 only when told to", async () => {
    const both = createSecureServer(
      { cert: server.cert, key: server.key, allowHTTP1: true },
      (request, response) => {
        response.end(request.httpVersion);
      },
    );
    both.listen(0, "127.0.0.1");
    await once(both, "listening");
    cleanups.push(() => both.close());
    const where = `https://127.0.0.1:${(both.address() as AddressInfo).port}`;
    expect(await ask(where, { ca: server.ca })).toBe("1.1");
    expect(await ask(where, { ca: server.ca, http2: true })).toBe("2.0");
  });
});
