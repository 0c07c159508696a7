import { execFileSync } from "node:child_process";
import { createPublicKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { certify, createAuthority } from "./certificate.ts";
import { createCertificateRequest, readCertificateRequest } from "./certificate-request.ts";
import { hasOpenssl } from "./openssl.fixture.ts";
import { pem, pemBytes } from "./pem.ts";

/** A request made by openssl with a new key of this kind. */
function request(key: readonly string[]): string {
  return execFileSync(
    "openssl",
    [
      "req",
      "-new",
      "-nodes",
      ...key,
      "-subj",
      "/O=system:nodes/CN=system:node:a",
      "-keyout",
      "/dev/null",
    ].concat(["-addext", "subjectAltName=DNS:a.example.com,IP:10.0.0.7,IP:fd00::7"]),
    { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
  );
}

const keys: Readonly<Record<string, readonly string[]>> = {
  "P-256": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
  "P-384": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384", "-sha384"],
  RSA: ["-newkey", "rsa:2048"],
  Ed25519: ["-newkey", "ed25519"],
};

describe.skipIf(!hasOpenssl)(`requests of openssl${hasOpenssl ? "" : ": it is not on this machine"}`, () => {
  test.each(Object.keys(keys))("a request with a key of type %s is read and granted", (type) => {
    const read = readCertificateRequest(request(keys[type] ?? []));
    expect(read.subject).toEqual({ commonName: "system:node:a", organizations: ["system:nodes"] });
    expect(read.names).toEqual(["a.example.com", "10.0.0.7", "fd00:0:0:0:0:0:0:7"]);
    const [notBeforeMs, notAfterMs] = [Date.now(), Date.now() + 3600_000];
    const authority = createAuthority("ca", notBeforeMs, notAfterMs);
    const granted = new X509Certificate(
      certify(authority, read.publicKey, { ...read, usages: ["client"], notBeforeMs, notAfterMs }),
    );
    expect(granted.checkIssued(new X509Certificate(authority.certificate))).toBe(true);
    expect(granted.publicKey.equals(read.publicKey)).toBe(true);
  });

  test("a request whose content was changed after signing is refused", () => {
    const bytes = Buffer.from(pemBytes(request(keys["P-256"] ?? [])));
    bytes[bytes.indexOf("system:nodes")] = "S".charCodeAt(0);
    expect(() => readCertificateRequest(pem("CERTIFICATE REQUEST", bytes))).toThrow(
      expect.objectContaining({ code: "BadSignature" }),
    );
  });

  test("a request that is cut short is refused", () => {
    const bytes = pemBytes(request(keys["P-256"] ?? []));
    expect(() => readCertificateRequest(pem("CERTIFICATE REQUEST", bytes.subarray(0, 60)))).toThrow(
      expect.objectContaining({ code: "BadEncoding" }),
    );
  });
});

test("a PEM block of another type is refused", () => {
  expect(() => readCertificateRequest(pem("CERTIFICATE", Buffer.of(0x30, 0)))).toThrow(
    expect.objectContaining({ code: "BadRequest" }),
  );
});

describe("a request of our own", () => {
  const subject = { commonName: "system:node:a", organizations: ["system:nodes"] };
  const privateKeys = {
    "P-256": generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
    RSA: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey,
  };
  const requests = Object.entries(privateKeys).map(([type, privateKey]) => {
    const key = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
    return { type, privateKey, made: createCertificateRequest(key, subject) };
  });

  test.each(requests)("with a key of type $type is read as it was meant", ({ made, privateKey }) => {
    const read = readCertificateRequest(made);
    expect(read).toMatchObject({ subject, names: [] });
    expect(read.publicKey.equals(createPublicKey(privateKey))).toBe(true);
  });

  test.skipIf(!hasOpenssl).each(requests)("with a key of type $type is verified by openssl", ({ made }) => {
    const text = execFileSync("openssl", ["req", "-verify", "-noout", "-subject"], {
      input: made,
      encoding: "utf8",
      stdio: ["pipe", "pipe", "ignore"],
    });
    expect(text.replaceAll(" ", "").trim()).toMatch(/O=system:nodes,CN=system:node:a$/);
  });
});
