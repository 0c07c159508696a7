import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { createCertificateAuthority, createSigningKey } from "./certificates.ts";

const authority = createCertificateAuthority("test-ca");

test("an authority certifies itself as one", () => {
  const certificate = new X509Certificate(authority.certificate);
  expect(certificate.ca).toBe(true);
  expect(certificate.subject).toBe("CN=test-ca");
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.checkPrivateKey(createPrivateKey(authority.key))).toBe(true);
});

test("user and groups are in a client's subject", () => {
  const issued = authority.issue({ commonName: "ada", organizations: ["system:masters", "büro"] });
  const certificate = new X509Certificate(issued.certificate);
  expect(certificate.ca).toBe(false);
  expect(certificate.subject).toContain("O=system:masters\n");
  expect(certificate.subject).toContain("CN=ada");
  expect(certificate.checkIssued(new X509Certificate(authority.certificate))).toBe(true);
  expect(certificate.verify(createPublicKey(authority.certificate))).toBe(true);
  expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
});

test("names and addresses are in a server's certificate", () => {
  const hosts = ["127.0.0.1", "10.96.0.1", "kubernetes.default.svc"];
  const certificate = new X509Certificate(authority.issue({ commonName: "server", hosts }).certificate);
  expect(certificate.subjectAltName).toBe(
    "IP Address:127.0.0.1, IP Address:10.96.0.1, DNS:kubernetes.default.svc",
  );
  expect(certificate.checkIP("127.0.0.1")).toBe("127.0.0.1");
  expect(certificate.checkHost("example.com")).toBeUndefined();
});

test("a hundred serial numbers all make certificates that parse", () => {
  const serials = Array.from(
    { length: 100 },
    () => new X509Certificate(authority.issue({ commonName: "x" }).certificate).serialNumber,
  );
  expect(new Set(serials).size).toBe(100);
});

test("both ends of a connection trust what the authority issued", async () => {
  const serverPair = authority.issue({ commonName: "server", hosts: ["127.0.0.1"] });
  const clientPair = authority.issue({ commonName: "client" });
  const ca = authority.certificate;
  const server = createServer({ cert: serverPair.certificate, key: serverPair.key, ca, requestCert: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted: Promise<[TLSSocket]> = once(server, "secureConnection") as never;
  const { port } = server.address() as AddressInfo;
  const client = connect({ host: "127.0.0.1", port, ca, cert: clientPair.certificate, key: clientPair.key });
  await once(client, "secureConnect");
  const [peer] = await accepted;
  expect(client.authorized).toBe(true);
  expect(peer.authorized).toBe(true);
  client.destroy();
  peer.destroy();
  server.close();
});

test("a signing key is a pair", () => {
  const pair = createSigningKey();
  expect(createPublicKey(createPrivateKey(pair.key)).export({ type: "spki", format: "pem" })).toBe(
    pair.publicKey,
  );
});
