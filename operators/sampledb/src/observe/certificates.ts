/** The certificates that servers present, and how the operator recognizes them. */
import type { TlsTrust } from "../engine/connection.ts";

/** What servers present that have mounted one Secret. */
export interface Certificate {
  /** How the operator recognizes them. */
  readonly trust: TlsTrust;
  /** Whom clients must trust when every server presents it. */
  readonly authority: string;
  /** SHA-256 of the certificate; undefined while the Secret is not complete. */
  readonly fingerprint: string | undefined;
  /** When whom to trust last changed. */
  readonly changedMs: number;
}

/**
 * Every certificate that is in use, by the name of its Secret. While TLS is switched on or off, or to another Secret,
 * there are servers of both kinds.
 */
export type Certificates = ReadonlyMap<string, Certificate>;

/** How a server is recognized that has mounted this Secret, or none. */
export function trustOf(certificates: Certificates, secret: string | undefined): TlsTrust | undefined {
  return secret === undefined ? undefined : certificates.get(secret)?.trust;
}
