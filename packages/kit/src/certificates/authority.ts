/** A certificate authority and its replacement: trust first, then certificates, then the end of the old trust. Pure. */
import { hash, X509Certificate } from "node:crypto";
import { backdateMs, createAuthority, type KeyPair } from "@keelson/pki";

/**
 * Servers usually read whom they trust only when they start, and their own certificate at every connection. So an
 * authority is replaced in three passes, each complete before the next: everyone is restarted trusting both; certificates
 * are issued by the new one; everyone is restarted trusting the new one alone.
 *
 * - neither `next` nor `previous`: no replacement is under way.
 * - `next`: trusted beside the current one, and not yet used.
 * - `previous`: still trusted, and no longer used.
 */
export interface Authority {
  /** Its key is empty when it was lost: then nothing more can be issued by it. */
  readonly current: KeyPair;
  readonly next?: KeyPair;
  /** The certificate of the authority that was replaced. */
  readonly previous?: string;
  /** When the phase began. */
  readonly sinceMs: number;
  /** The last request for a rotation that was fulfilled; see {@link AuthorityFacts.rotation}. */
  readonly rotation?: string;
}

/** What the world says about an authority; {@link advanceAuthority} decides by it. */
export interface AuthorityFacts {
  readonly nowMs: number;
  /** Every server was started with exactly the trust of this authority. */
  readonly trusted: boolean;
  /** Every server presents a certificate of the current authority. */
  readonly served: boolean;
  /** How long clients get to notice a new trust or a new certificate. */
  readonly overlapMs: number;
  /** A user's request for another authority: any text; a different one than before asks again. */
  readonly rotation?: string | undefined;
  /** The authority that a user provides. Default: the operator makes its own. */
  readonly given?: KeyPair | undefined;
}

const dayMs = 86_400_000;
const lifetimeMs = 3_650 * dayMs;
/** An authority is replaced when this little of its lifetime is left. */
const reserveMs = 365 * dayMs;

/** The authority that a user provides, or a new one that is valid for ten years. */
export function newAuthority(name: string, facts: Pick<AuthorityFacts, "nowMs" | "given">): KeyPair {
  const { nowMs, given } = facts;
  return given ?? createAuthority(name, nowMs - backdateMs, nowMs + lifetimeMs);
}

/**
 * The next phase of an authority, or the same value when it stays as it is. An authority is replaced when a user
 * provides another one, when a rotation is requested, and when less than a year of its own lifetime is left.
 */
export function advanceAuthority(name: string, authority: Authority, facts: AuthorityFacts): Authority {
  const { nowMs, overlapMs, given } = facts;
  const { current, next, previous, sinceMs } = authority;
  const requested = facts.rotation === undefined ? {} : { rotation: facts.rotation };
  // The clock was set back: the overlap begins again, and does not last until the clock is there once more.
  if (sinceMs > nowMs && (next || previous !== undefined)) return { ...authority, sinceMs: nowMs };
  const hasOverlapped = nowMs - sinceMs >= overlapMs;
  if (next) {
    if (!facts.trusted || !hasOverlapped) return authority;
    return { current: next, previous: current.certificate, sinceMs: nowMs, ...rotationOf(authority) };
  }
  if (previous !== undefined) {
    if (!facts.served || !hasOverlapped) return authority;
    return { current, sinceMs: nowMs, ...rotationOf(authority) };
  }
  const isOther = given !== undefined && given.certificate.trim() !== current.certificate.trim();
  const isRequested = facts.rotation !== undefined && facts.rotation !== authority.rotation;
  const isOld = given === undefined && expiryOf(current.certificate) - nowMs < reserveMs;
  if (!isOther && !isRequested && !isOld) return authority;
  if (given !== undefined && !isOther) return { ...authority, ...requested };
  return { current, next: newAuthority(name, facts), sinceMs: nowMs, ...rotationOf(authority), ...requested };
}

function rotationOf({ rotation }: Authority): Pick<Authority, "rotation"> {
  return rotation === undefined ? {} : { rotation };
}

/** Who issues now: the current authority, or the next one when the key of the current one is lost. */
export function issuerOf({ current, next }: Authority): KeyPair {
  return current.key === "" && next ? next : current;
}

/** All trusted certificates in one PEM text: the same for the same authorities, whatever their phase. */
export function trustBundle({ current, next, previous }: Authority): string {
  const certificates = [current.certificate, next?.certificate, previous].flatMap((each) =>
    each === undefined ? [] : [`${each.trim()}\n`],
  );
  return [...new Set(certificates)].sort().join("");
}

/** Identifies a trust bundle: servers that were started with another one must be restarted. */
export function trustDigest(bundle: string): string {
  return hash("sha256", bundle.replaceAll(/\s+/g, "")).slice(0, 12);
}

/** Every pass asks about the same certificates, and to read one takes longer than much else in a pass. */
const expiriesKept = 256;
const expiries = new Map<string, number>();

/** When a certificate ends, in milliseconds since the epoch. Throws when it is not a certificate. */
export function expiryOf(certificate: string): number {
  const known = expiries.get(certificate);
  if (known !== undefined) return known;
  const expiresMs = Date.parse(new X509Certificate(certificate).validTo);
  if (expiries.size >= expiriesKept) expiries.clear();
  expiries.set(certificate, expiresMs);
  return expiresMs;
}
