/** Certificate signing requests (PKCS #10): made, read and checked. */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { distinguishedName, type Subject, signatureAlgorithm } from "./certificate.ts";
import { bits, context, integer, sequence } from "./der.ts";
import { PkiError } from "./errors.ts";
import { pem, pemBytes } from "./pem.ts";
import { children, type DerNode, objectIdText, readDer } from "./read-der.ts";

/** What a certificate signing request asks for. */
export interface CertificateRequest {
  readonly subject: Subject;
  /** Names and addresses of the requested subjectAltName extension. */
  readonly names: readonly string[];
  readonly publicKey: KeyObject;
}

/**
 * Asks for a certificate of the subject, for a private key in PEM that the request is signed with: RSA or P-256.
 *
 * @example
 * ```ts
 * const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
 * const key = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
 * const request = createCertificateRequest(key, { commonName: "db-0", organizations: ["db"] });
 * ```
 */
export function createCertificateRequest(key: string, subject: Subject): string {
  const signer = createPrivateKey(key);
  const publicKey = createPublicKey(signer).export({ type: "spki", format: "der" });
  const body = sequence(integer(0), distinguishedName(subject), publicKey, context(0, Buffer.alloc(0)));
  const signature = bits(sign("sha256", body, signer));
  return pem("CERTIFICATE REQUEST", sequence(body, signatureAlgorithm(signer), signature));
}

/**
 * Reads a certificate signing request in PEM and checks that it is signed with its own key. Throws a PkiError.
 *
 * @example
 * ```ts
 * const request = readCertificateRequest(pemOfTheRequest);
 * const certificate = certify(authority, request.publicKey, {
 *   subject: request.subject,
 *   names: request.names,
 *   usages: ["client"],
 *   notBeforeMs: Date.now(),
 *   notAfterMs: Date.now() + 24 * 3600_000,
 * });
 * ```
 */
export function readCertificateRequest(text: string): CertificateRequest {
  if (!text.includes("CERTIFICATE REQUEST"))
    throw new PkiError("BadRequest", "PEM block type must be CERTIFICATE REQUEST");
  const { node } = readDer(pemBytes(text));
  const [body, algorithm, signature] = children(node);
  if (!body || !algorithm || !signature) throw new PkiError("BadRequest", "the request lacks a part");
  const [, subject, key, attributes] = children(body);
  if (!subject || !key) throw new PkiError("BadRequest", "the request lacks a subject or a key");
  const publicKey = createPublicKey({ key: Buffer.from(key.whole), format: "der", type: "spki" });
  if (!verify(digestOf(algorithm), body.whole, publicKey, signature.content.subarray(1)))
    throw new PkiError("BadSignature", "the request is not signed with its own key");
  return { subject: readSubject(subject), names: attributes ? readNames(attributes) : [], publicKey };
}

/** Digests by signature algorithm: RSA and ECDSA with SHA-2; Ed25519 has none. */
const digests: Readonly<Record<string, string | null>> = {
  "1.2.840.113549.1.1.11": "sha256",
  "1.2.840.113549.1.1.12": "sha384",
  "1.2.840.113549.1.1.13": "sha512",
  "1.2.840.10045.4.3.2": "sha256",
  "1.2.840.10045.4.3.3": "sha384",
  "1.2.840.10045.4.3.4": "sha512",
  "1.3.101.112": null,
};

function digestOf(algorithm: DerNode): string | null {
  const [id] = children(algorithm);
  const digest = id && digests[objectIdText(id)];
  if (digest === undefined)
    throw new PkiError("BadSignature", "x509: cannot verify signature: algorithm unimplemented");
  return digest;
}

function readSubject(node: DerNode): Subject {
  const organizations: string[] = [];
  let commonName = "";
  for (const part of children(node)) {
    const [pair] = children(part);
    const [id, value] = pair ? children(pair) : [];
    if (!id || !value) continue;
    const text = Buffer.from(value.content).toString("utf8");
    if (objectIdText(id) === "2.5.4.3") commonName = text;
    else if (objectIdText(id) === "2.5.4.10") organizations.push(text);
  }
  return { commonName, organizations };
}

/** Names of the requested subjectAltName extension. */
function readNames(attributes: DerNode): string[] {
  for (const attribute of children(attributes)) {
    const [id, values] = children(attribute);
    if (!id || !values || objectIdText(id) !== "1.2.840.113549.1.9.14") continue;
    for (const list of children(values))
      for (const extension of children(list)) {
        const parts = children(extension);
        const [extensionId] = parts;
        const value = parts.at(-1);
        if (!extensionId || !value || objectIdText(extensionId) !== "2.5.29.17") continue;
        return children(readDer(value.content).node).map(nameText);
      }
  }
  return [];
}

function nameText(node: DerNode): string {
  if ((node.tag & 0x1f) !== 7) return Buffer.from(node.content).toString("utf8");
  if (node.content.length === 4) return [...node.content].join(".");
  const words: string[] = [];
  for (let i = 0; i < node.content.length; i += 2)
    words.push((((node.content[i] as number) << 8) | (node.content[i + 1] as number)).toString(16));
  return words.join(":");
}
