// A certificate authority for one control plane: X.509 certificates on P-256 keys, with nothing but node:crypto.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIPv4 } from "node:net";

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface CertificateRequest {
  /** The user, when the certificate is shown to the API server. */
  readonly commonName: string;
  /** The groups, when the certificate is shown to the API server. */
  readonly organizations?: readonly string[];
  /** DNS names and IPv4 addresses of a server; a certificate without any can only be a client's. */
  readonly hosts?: readonly string[];
}

export interface CertificateAuthority extends KeyPair {
  issue(request: CertificateRequest): KeyPair;
}

const lifetimeMs = 365 * 24 * 3600_000;
/** Certificates begin an hour ago, for the sake of clocks that differ. */
const leewayMs = 3600_000;

export function createCertificateAuthority(commonName: string): CertificateAuthority {
  const own = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer: Issuer = {
    name: distinguishedName(commonName, []),
    publicKey: own.publicKey,
    privateKey: own.privateKey,
  };
  return {
    certificate: certify(issuer, issuer.name, own.publicKey, [
      extension(oid.basicConstraints, sequence(boolean(true)), { critical: true }),
      extension(oid.keyUsage, bits(0b10100100), { critical: true }),
    ]),
    key: pkcs8(own.privateKey),
    issue({ commonName, organizations = [], hosts = [] }) {
      const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const usages = hosts.length > 0 ? [oid.clientAuth, oid.serverAuth] : [oid.clientAuth];
      const certificate = certify(issuer, distinguishedName(commonName, organizations), publicKey, [
        extension(oid.basicConstraints, sequence(), { critical: true }),
        extension(oid.keyUsage, bits(0b10000000), { critical: true }),
        extension(oid.extendedKeyUsage, sequence(...usages.map(objectIdentifier))),
        ...(hosts.length > 0
          ? [extension(oid.subjectAlternativeName, sequence(...hosts.map(generalName)))]
          : []),
      ]);
      return { certificate, key: pkcs8(privateKey) };
    },
  };
}

/** A key to sign service account tokens with. */
export function createSigningKey(): { readonly publicKey: string; readonly key: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { publicKey: publicKey.export({ type: "spki", format: "pem" }).toString(), key: pkcs8(privateKey) };
}

interface Issuer {
  readonly name: Buffer;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

function certify(
  issuer: Issuer,
  subject: Buffer,
  publicKey: KeyObject,
  extensions: readonly Buffer[],
): string {
  const algorithm = sequence(objectIdentifier(oid.ecdsaWithSha256));
  const now = Date.now();
  const toBeSigned = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(randomBytes(16)),
    algorithm,
    issuer.name,
    sequence(time(now - leewayMs), time(now + lifetimeMs)),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(
      0xa3,
      sequence(
        ...extensions,
        extension(oid.subjectKeyIdentifier, tagged(0x04, keyIdentifier(publicKey))),
        extension(oid.authorityKeyIdentifier, sequence(tagged(0x80, keyIdentifier(issuer.publicKey)))),
      ),
    ),
  );
  const signature = sign("sha256", toBeSigned, issuer.privateKey);
  const der = sequence(toBeSigned, algorithm, tagged(0x03, Buffer.of(0), signature));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}

function pkcs8(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

function keyIdentifier(publicKey: KeyObject): Buffer {
  return createHash("sha1")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest();
}

const oid = {
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAlternativeName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
} as const;

function distinguishedName(commonName: string, organizations: readonly string[]): Buffer {
  const part = (type: string, value: string) =>
    tagged(0x31, sequence(objectIdentifier(type), tagged(0x0c, Buffer.from(value))));
  return sequence(
    ...organizations.map((name) => part(oid.organization, name)),
    part(oid.commonName, commonName),
  );
}

function generalName(host: string): Buffer {
  return isIPv4(host)
    ? tagged(0x87, Buffer.from(host.split(".").map(Number)))
    : tagged(0x82, Buffer.from(host));
}

function extension(type: string, value: Buffer, { critical = false } = {}): Buffer {
  return sequence(objectIdentifier(type), ...(critical ? [boolean(true)] : []), tagged(0x04, value));
}

function sequence(...items: readonly Buffer[]): Buffer {
  return tagged(0x30, ...items);
}

function boolean(value: boolean): Buffer {
  return tagged(0x01, Buffer.of(value ? 0xff : 0));
}

/** A bit string of at most one byte. */
function bits(byte: number): Buffer {
  const unused = Math.clz32(byte & -byte) === 32 ? 0 : 31 - Math.clz32(byte & -byte);
  return tagged(0x03, Buffer.of(unused, byte));
}

/** A positive integer: a leading zero keeps the highest bit from meaning a sign. */
function integer(bytes: Buffer): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  const digits = bytes.subarray(start === -1 ? bytes.length - 1 : start);
  return tagged(0x02, ...((digits[0] ?? 0) >= 0x80 ? [Buffer.of(0)] : []), digits);
}

/** UTCTime, which RFC 5280 asks for until 2049. */
function time(ms: number): Buffer {
  return tagged(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, "").slice(2, 14)}Z`));
}

function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest].flatMap(base128)));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
}

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(tag), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  return length < 0x100 ? Buffer.of(0x81, length) : Buffer.of(0x82, length >> 8, length & 0xff);
}
