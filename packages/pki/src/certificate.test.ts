import { execFileSync } from "node:child_process";
import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer, type TLSSocket } from "node:tls";
import { describe, expect, test } from "vitest";
import { type CertificateOptions, certify, createAuthority, createLeaf } from "./certificate.ts";
import { PkiError } from "./errors.ts";
import { hasOpenssl } from "./openssl.fixture.ts";

const hourMs = 3600_000;
const notBeforeMs = Date.now() - hourMs;
const notAfterMs = Date.now() + 24 * hourMs;
const authority = createAuthority("test-ca", notBeforeMs, notAfterMs);

function leaf(options: Partial<CertificateOptions>) {
  const subject = { commonName: "leaf" };
  return createLeaf(authority, { subject, usages: ["client"], notBeforeMs, notAfterMs, ...options });
}

test("an authority certifies itself as one", () => {
  const certificate = new X509Certificate(authority.certificate);
  expect(certificate.ca).toBe(true);
  expect(certificate.subject).toBe("CN=test-ca");
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.checkPrivateKey(createPrivateKey(authority.key))).toBe(true);
});

test("user and groups are in a client's subject", () => {
  const issued = leaf({ subject: { commonName: "ada", organizations: ["system:masters", "büro"] } });
  const certificate = new X509Certificate(issued.certificate);
  expect(certificate.ca).toBe(false);
  expect(certificate.subject).toContain("O=system:masters\n");
  expect(certificate.subject).toContain("CN=ada");
  expect(certificate.checkIssued(new X509Certificate(authority.certificate))).toBe(true);
  expect(certificate.verify(createPublicKey(authority.certificate))).toBe(true);
  expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
});

test("names and addresses are in a server's certificate", () => {
  const names = ["127.0.0.1", "10.96.0.1", "::1", "fd00::10", "::ffff:1.2.3.4", "kubernetes.default.svc"];
  const certificate = new X509Certificate(leaf({ names, usages: ["server"] }).certificate);
  expect(certificate.subjectAltName).toBe(
    [
      "IP Address:127.0.0.1",
      "IP Address:10.96.0.1",
      "IP Address:0:0:0:0:0:0:0:1",
      "IP Address:FD00:0:0:0:0:0:0:10",
      "IP Address:0:0:0:0:0:FFFF:102:304",
      "DNS:kubernetes.default.svc",
    ].join(", "),
  );
  expect(certificate.checkIP("127.0.0.1")).toBe("127.0.0.1");
  expect(certificate.checkIP("::1")).toBe("::1");
  expect(certificate.checkHost("example.com")).toBeUndefined();
});

test("validity may pass the year 2049, where the encoding of times changes", () => {
  const notAfterMs = Date.UTC(2051, 6, 1, 12, 30, 15);
  const certificate = new X509Certificate(leaf({ notAfterMs }).certificate);
  expect(Date.parse(certificate.validTo)).toBe(notAfterMs);
});

test("a hundred certificates have a hundred serial numbers", () => {
  const serials = Array.from({ length: 100 }, () => new X509Certificate(leaf({}).certificate).serialNumber);
  expect(new Set(serials).size).toBe(100);
});

test("both ends of a connection trust what the authority signed", async () => {
  const serverPair = leaf({ names: ["127.0.0.1"], usages: ["server"] });
  const clientPair = leaf({ subject: { commonName: "client" } });
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

test("an authority whose certificate is not one is refused", () => {
  const { publicKey } = new X509Certificate(authority.certificate);
  const options = { subject: { commonName: "x" }, usages: [], notBeforeMs, notAfterMs };
  const broken = {
    ...authority,
    certificate: "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----",
  };
  expect(() => certify(broken, publicKey, options)).toThrow(PkiError);
});

describe.skipIf(!hasOpenssl)(`openssl${hasOpenssl ? "" : ": it is not on this machine"}`, () => {
  test("accepts the chain of a server's certificate", () => {
    const folder = mkdtempSync(join(tmpdir(), "keelson-pki-"));
    try {
      const [ca, cert] = [join(folder, "ca.crt"), join(folder, "tls.crt")];
      writeFileSync(ca, authority.certificate);
      writeFileSync(cert, leaf({ names: ["db.default.svc"], usages: ["server"] }).certificate);
      const verify = [
        "verify",
        "-x509_strict",
        "-purpose",
        "sslserver",
        "-verify_hostname",
        "db.default.svc",
      ];
      expect(execFileSync("openssl", [...verify, "-CAfile", ca, cert], { encoding: "utf8" })).toBe(
        `${cert}: OK\n`,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
