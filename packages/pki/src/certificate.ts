/** Certificates on P-256: an authority, leaves for servers and clients, and signed requests. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from "node:crypto";
import { isIP } from "node:net";
import {
  bits,
  boolean,
  context,
  type Der,
  integer,
  objectId,
  octets,
  sequence,
  set,
  time,
  utf8,
} from "./der.ts";
import { PkiError } from "./errors.ts";
import { pem, pemBytes } from "./pem.ts";
import { children, readDer } from "./read-der.ts";

const ids = {
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
} as const;

/**
 * For certificates that are made to be used at once: valid from this long ago. The clocks of others may be behind, and our
 * own may be set back. Time that was taken for that of another zone is wrong by less than a day.
 */
export const backdateMs = 86_400_000;

/** Whom a certificate is about. */
export interface Subject {
  /** Empty for none: some servers take it for the name of a user. */
  readonly commonName: string;
  /** For Kubernetes these are the user's groups. Default: none. */
  readonly organizations?: readonly string[];
}

/** A certificate and its private key, both in PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** What a leaf certificate says. */
export interface CertificateOptions {
  readonly subject: Subject;
  /** Host names, IPv4 and IPv6 addresses that the certificate is valid for. Default: none. */
  readonly names?: readonly string[];
  /** Which ends of a TLS connection may show the certificate. */
  readonly usages: readonly ("server" | "client")[];
  /** First moment of validity, in milliseconds since 1970. */
  readonly notBeforeMs: number;
  /** Last moment of validity, in milliseconds since 1970. */
  readonly notAfterMs: number;
  /** At most twenty bytes. Default: a hash of the public key, the subject, the names and `notBeforeMs`. */
  readonly serial?: Uint8Array;
}

/**
 * Makes a certificate authority: a new P-256 key and a certificate that it signed itself.
 *
 * @example
 * ```ts
 * const dayMs = 24 * 3600_000;
 * const authority = createAuthority("etcd-ca", Date.now(), Date.now() + 365 * dayMs);
 * ```
 */
export function createAuthority(commonName: string, notBeforeMs: number, notAfterMs: number): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const subject = { commonName };
  const certificate = build({
    options: { subject, usages: [], notBeforeMs, notAfterMs },
    issuer: subject,
    publicKey,
    signer: privateKey,
    authority: true,
    issuerKey: publicKey,
  });
  return { certificate: pem("CERTIFICATE", certificate), key: exportKey(privateKey) };
}

/**
 * Makes a new P-256 key, and a certificate for it that the authority signs.
 *
 * @example
 * ```ts
 * const server = createLeaf(authority, {
 *   subject: { commonName: "db-0" },
 *   names: ["db-0.db.default.svc", "127.0.0.1"],
 *   usages: ["server"],
 *   notBeforeMs: Date.now(),
 *   notAfterMs: Date.now() + 90 * 24 * 3600_000,
 * });
 * ```
 */
export function createLeaf(authority: KeyPair, options: CertificateOptions): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { certificate: certify(authority, publicKey, options), key: exportKey(privateKey) };
}

/**
 * Signs a certificate for a public key whose private half is elsewhere, and returns it in PEM.
 * Throws a PkiError when the authority's certificate cannot be read.
 */
export function certify(authority: KeyPair, publicKey: KeyObject, options: CertificateOptions): string {
  const signer = createPrivateKey(authority.key);
  return pem(
    "CERTIFICATE",
    build({
      options,
      issuer: subjectOf(authority.certificate),
      publicKey,
      signer,
      authority: false,
      issuerKey: createPublicKey(signer),
    }),
  );
}

interface Parts {
  readonly options: CertificateOptions;
  readonly issuer: Subject | Uint8Array;
  readonly publicKey: KeyObject;
  readonly signer: KeyObject;
  readonly authority: boolean;
  readonly issuerKey: KeyObject;
}

function build({ options, issuer, publicKey, signer, authority, issuerKey }: Parts): Der {
  const algorithm = signatureAlgorithm(signer);
  const spki = publicKey.export({ type: "spki", format: "der" });
  const serial = options.serial ?? serialFor(spki, options);
  const body = sequence(
    context(0, integer(2)),
    integer(serial),
    algorithm,
    issuer instanceof Uint8Array ? issuer : distinguishedName(issuer),
    sequence(time(options.notBeforeMs), time(options.notAfterMs)),
    distinguishedName(options.subject),
    spki,
    context(3, sequence(...extensions(options, authority, publicKey, issuerKey))),
  );
  return sequence(body, algorithm, bits(sign("sha256", body, signer)));
}

export function signatureAlgorithm(signer: KeyObject): Der {
  if (signer.asymmetricKeyType === "rsa")
    return sequence(objectId("1.2.840.113549.1.1.11"), Buffer.from([0x05, 0x00]));
  return sequence(objectId(ids.ecdsaWithSha256));
}

/** Positive, and different for each key and subject of one issuer, without randomness. */
function serialFor(spki: Uint8Array, options: CertificateOptions): Uint8Array {
  const hash = createHash("sha256")
    .update(spki)
    .update(JSON.stringify([options.subject, options.notBeforeMs, options.names ?? []]))
    .digest()
    .subarray(0, 16);
  hash[0] = ((hash[0] as number) & 0x7f) | 0x40;
  return hash;
}

export function distinguishedName({ commonName, organizations = [] }: Subject): Der {
  const attribute = (id: string, value: string) => set(sequence(objectId(id), utf8(value)));
  return sequence(
    ...organizations.map((name) => attribute(ids.organization, name)),
    ...(commonName === "" ? [] : [attribute(ids.commonName, commonName)]),
  );
}

function extensions(
  { names = [], usages }: CertificateOptions,
  authority: boolean,
  publicKey: KeyObject,
  issuerKey: KeyObject,
): Der[] {
  const extension = (id: string, critical: boolean, value: Uint8Array) =>
    sequence(objectId(id), ...(critical ? [boolean(true)] : []), octets(value));
  const out = [
    authority
      ? extension(ids.keyUsage, true, bits(Buffer.from([0b10100100]), 2))
      : extension(ids.keyUsage, true, bits(Buffer.from([0b10100000]), 5)),
    extension(ids.basicConstraints, true, authority ? sequence(boolean(true)) : sequence()),
    extension(ids.authorityKeyIdentifier, false, sequence(context(0, keyIdentifier(issuerKey), false))),
  ];
  if (authority) out.push(extension(ids.subjectKeyIdentifier, false, octets(keyIdentifier(publicKey))));
  if (usages.length > 0)
    out.push(
      extension(
        ids.extendedKeyUsage,
        false,
        sequence(...usages.map((usage) => objectId(usage === "server" ? ids.serverAuth : ids.clientAuth))),
      ),
    );
  if (names.length > 0) out.push(extension(ids.subjectAltName, false, sequence(...names.map(generalName))));
  return out;
}

function keyIdentifier(key: KeyObject): Uint8Array {
  return createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest()
    .subarray(0, 20);
}

function generalName(name: string): Der {
  const family = isIP(name);
  if (family === 4) return context(7, Buffer.from(name.split(".").map(Number)), false);
  if (family === 6) return context(7, ipv6Bytes(name), false);
  return context(2, Buffer.from(name), false);
}

function ipv6Bytes(address: string): Uint8Array {
  const [head = "", tail] = address.split("::");
  const left = ipv6Words(head);
  const right = tail === undefined ? [] : ipv6Words(tail);
  const middle = new Array<number>(8 - left.length - right.length).fill(0);
  return Buffer.from([...left, ...middle, ...right].flatMap((word) => [word >> 8, word & 0xff]));
}

/** The 16-bit words of one side of `::`. The last 32 bits may be written as an IPv4 address. */
function ipv6Words(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((word) => {
    if (!word.includes(".")) return [Number.parseInt(word, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = word.split(".").map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}

/** The subject of a certificate as it is encoded, to be written as the issuer of others. */
function subjectOf(certificate: string): Uint8Array {
  const [body] = children(readDer(pemBytes(certificate)).node);
  // Version, serial, algorithm, issuer, validity, subject.
  const subject = body && children(body)[5];
  if (!subject)
    throw new PkiError("BadEncoding", "cannot read the authority's certificate: it has no subject");
  return subject.whole;
}

function exportKey(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }) as string;
}
