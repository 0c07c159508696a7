/** Authorities and leaves as Secrets: how they are read, and how they are written. */
import type { InputOf, ObjectOf } from "@keelson/core";
import type { Secret } from "@keelson/core/kinds";
import type { KeyPair } from "@keelson/pki";
import { type Authority, trustBundle } from "./authority.ts";
import type { Leaf } from "./leaf.ts";

/** A Secret as the API server returns it. */
export type SecretObject = ObjectOf<typeof Secret>;
/** A Secret as it is written. */
export type SecretInput = InputOf<typeof Secret>;

/** The keys of a Secret with a certificate, as everyone in Kubernetes writes them. */
export const tlsSecretKeys = { authority: "ca.crt", certificate: "tls.crt", key: "tls.key" } as const;
const next = { certificate: "next.crt", key: "next.key" } as const;
const previous = "previous.crt";

/** One value of a Secret as text; undefined when the Secret or the key does not exist. */
export function secretText(secret: SecretObject | undefined, key: string): string | undefined {
  const value = secret?.data?.[key];
  return value === undefined ? undefined : Buffer.from(value, "base64").toString();
}

/** `tls.crt` and `tls.key`; undefined when one of them is missing. */
export function secretKeyPair(secret: SecretObject | undefined): KeyPair | undefined {
  const certificate = secretText(secret, tlsSecretKeys.certificate);
  const key = secretText(secret, tlsSecretKeys.key);
  return certificate === undefined || key === undefined ? undefined : { certificate, key };
}

/** Names of annotations, which belong to the operator's own API group. */
export interface CertificateAnnotations {
  /** On an authority's Secret: when its phase began. */
  readonly since: string;
  /** On an authority's Secret: the last rotation that was fulfilled. Users write the same annotation on their object. */
  readonly rotation: string;
  /** On a leaf's Secret: see {@link Leaf.seal}. */
  readonly seal: string;
}

/** Name and labels of a Secret that is written. */
export interface SecretIdentity {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/**
 * Reads and writes the Secrets of one operator.
 *
 * @example
 * const secrets = new CertificateSecrets({
 *   since: "redis.example.com/since",
 *   rotation: "redis.example.com/rotate-authorities",
 *   seal: "redis.example.com/seal",
 * });
 * const authority = secrets.readAuthority(ctx.own.secrets.get("ca"));
 */
export class CertificateSecrets {
  readonly #annotations: CertificateAnnotations;

  constructor(annotations: CertificateAnnotations) {
    this.#annotations = annotations;
  }

  /** Undefined when the Secret does not hold a certificate and a key. */
  readAuthority(secret: SecretObject | undefined): Authority | undefined {
    const current = secretKeyPair(secret);
    if (!secret || !current) return undefined;
    const found = secret.metadata.annotations ?? {};
    const [certificate, key] = [secretText(secret, next.certificate), secretText(secret, next.key)];
    const old = secretText(secret, previous);
    const rotation = found[this.#annotations.rotation];
    return {
      current,
      ...(certificate !== undefined && key !== undefined ? { next: { certificate, key } } : {}),
      ...(old === undefined ? {} : { previous: old }),
      sinceMs: Date.parse(found[this.#annotations.since] ?? "") || 0,
      ...(rotation === undefined ? {} : { rotation }),
    };
  }

  /** The Secret of an authority: its pair, its trust bundle, and what its phase needs. */
  authority({ name, labels = {} }: SecretIdentity, authority: Authority): SecretInput {
    const { current, rotation, sinceMs } = authority;
    return {
      metadata: {
        name,
        labels: { ...labels },
        annotations: {
          [this.#annotations.since]: new Date(sinceMs).toISOString(),
          ...(rotation === undefined ? {} : { [this.#annotations.rotation]: rotation }),
        },
      },
      type: "Opaque",
      data: encoded({
        [tlsSecretKeys.authority]: trustBundle(authority),
        [tlsSecretKeys.certificate]: current.certificate,
        [tlsSecretKeys.key]: current.key,
        [next.certificate]: authority.next?.certificate,
        [next.key]: authority.next?.key,
        [previous]: authority.previous,
      }),
    };
  }

  /** Undefined when the Secret does not hold a certificate and a key; without a seal when a user wrote it. */
  readLeaf(secret: SecretObject | undefined): Partial<Leaf> | undefined {
    const pair = secretKeyPair(secret);
    const seal = secret?.metadata.annotations?.[this.#annotations.seal];
    return pair && { ...pair, ...(seal === undefined ? {} : { seal }) };
  }

  /** The Secret of a leaf, with the trust bundle beside it. */
  leaf({ name, labels = {} }: SecretIdentity, leaf: Leaf, bundle: string): SecretInput {
    return {
      metadata: { name, labels: { ...labels }, annotations: { [this.#annotations.seal]: leaf.seal } },
      type: "kubernetes.io/tls",
      data: encoded({
        [tlsSecretKeys.authority]: bundle,
        [tlsSecretKeys.certificate]: leaf.certificate,
        [tlsSecretKeys.key]: leaf.key,
      }),
    };
  }
}

function encoded(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, Buffer.from(value).toString("base64")]],
    ),
  );
}
