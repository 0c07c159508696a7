/** The keys that sign and verify service account tokens, and the documents that publish them. */

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { readFileSync } from "node:fs";
import { type JsonObject, parseJson } from "@keelson/core";
import { lookupTable } from "@keelson/core/internal";

interface Algorithm {
  readonly name: string;
  readonly hash: string;
}

interface VerifyingKey {
  readonly id: string;
  readonly key: KeyObject;
  readonly algorithm: Algorithm;
}

const curves: Readonly<Record<string, Algorithm>> = lookupTable({
  prime256v1: { name: "ES256", hash: "sha256" },
  secp384r1: { name: "ES384", hash: "sha384" },
  secp521r1: { name: "ES512", hash: "sha512" },
});

function algorithmOf(key: KeyObject): Algorithm {
  if (key.asymmetricKeyType === "rsa") return { name: "RS256", hash: "sha256" };
  const curve = curves[key.asymmetricKeyDetails?.namedCurve ?? ""];
  if (!curve) throw new Error("service account keys must be RSA or ECDSA on a NIST curve");
  return curve;
}

function verifyingKey(key: KeyObject): VerifyingKey {
  const der = key.export({ type: "spki", format: "der" });
  return { id: createHash("sha256").update(der).digest("base64url"), key, algorithm: algorithmOf(key) };
}

export interface KeyFiles {
  /** PEM of the private key. Without one a key is made that lives as long as the server. */
  readonly signing?: string | undefined;
  /** PEM files of further keys whose tokens are accepted. */
  readonly verifying?: readonly string[];
}

export class ServiceAccountKeys {
  readonly #files: KeyFiles;
  #private: KeyObject | undefined;
  #keys: VerifyingKey[] | undefined;

  constructor(files: KeyFiles = {}) {
    this.#files = files;
  }

  /** A compact JWS over the claims. */
  sign(claims: JsonObject): string {
    const key = this.#signing();
    const { id, algorithm } = this.#verifying()[0] as VerifyingKey;
    const header = encode({ alg: algorithm.name, kid: id });
    const payload = `${header}.${encode(claims)}`;
    const signature = sign(algorithm.hash, Buffer.from(payload), { key, dsaEncoding: "ieee-p1363" });
    return `${payload}.${signature.toString("base64url")}`;
  }

  /** Whether one of the keys signed the token. */
  verify(token: string): "valid" | "unknown key" | "wrong signature" {
    const dot = token.lastIndexOf(".");
    const payload = token.slice(0, dot);
    const signature = Buffer.from(token.slice(dot + 1), "base64url");
    const header = decode(token.slice(0, token.indexOf(".")));
    const wanted = this.#verifying().filter(({ id }) => !header?.kid || header.kid === id);
    if (wanted.length === 0) return "unknown key";
    const signed = wanted.some(
      ({ key, algorithm }) =>
        header?.alg === algorithm.name &&
        verify(algorithm.hash, Buffer.from(payload), { key, dsaEncoding: "ieee-p1363" }, signature),
    );
    return signed ? "valid" : "wrong signature";
  }

  /** The JSON Web Key Set of `/openid/v1/jwks`. */
  keySet(): JsonObject {
    return {
      keys: this.#verifying().map(({ id, key, algorithm }) => ({
        use: "sig",
        ...(key.export({ format: "jwk" }) as JsonObject),
        kid: id,
        alg: algorithm.name,
      })),
    };
  }

  /** Signature algorithms of the keys, each once. */
  algorithms(): string[] {
    return [...new Set(this.#verifying().map(({ algorithm }) => algorithm.name))];
  }

  #signing(): KeyObject {
    if (!this.#private) {
      this.#private = this.#files.signing
        ? createPrivateKey(readFileSync(this.#files.signing))
        : generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    }
    return this.#private;
  }

  #verifying(): VerifyingKey[] {
    this.#keys ??= [
      verifyingKey(createPublicKey(this.#signing())),
      ...(this.#files.verifying ?? []).map((path) => verifyingKey(createPublicKey(readFileSync(path)))),
    ];
    return this.#keys;
  }
}

function encode(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** One part of a token; `undefined` when it is not JSON. */
export function decode(part: string): JsonObject | undefined {
  try {
    const value: unknown = parseJson(Buffer.from(part, "base64url").toString());
    return typeof value === "object" && value !== null ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}
