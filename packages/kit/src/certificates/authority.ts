/** An authority and its replacement: trust first, then certificates, then the end of the old trust. Pure. */
import { hash, X509Certificate } from "node:crypto";
import { createAuthority, type KeyPair } from "@keelson/pki";

/**
 * Members read whom they trust only when they start, and their own certificates at every connection. So an authority is
 * replaced in three passes, each complete before the next: everyone is restarted trusting both; certificates are issued
 * by the new one; everyone is restarted trusting the new one alone.
 *
 * - neither `next` nor `previous`: at rest.
 * - `next`: trusted beside the current one, and not yet used.
 * - `previous`: still trusted, and no longer used.
 */
export interface Authority {
  /** Its key is empty when it was lost: then nothing more can be issued by it. */
  readonly current: KeyPair;
  readonly next?: KeyPair;
  readonly previous?: string;
  /** When the phase began. */
  readonly sinceMs: number;
  /** The last wish for another authority that was heard. */
  readonly wish?: string;
}

export interface AuthorityFacts {
  readonly nowMs: number;
  /** Every member was started with exactly the trust of this authority. */
  readonly trusted: boolean;
  /** Every member shows a certificate of the current authority. */
  readonly served: boolean;
  /** How long others get to take notice of a new trust or a new certificate. */
  readonly overlapMs: number;
  /** Another word asks for another authority. */
  readonly wish?: string | undefined;
  /** The authority that a user gives; the operator makes its own without it. */
  readonly given?: KeyPair | undefined;
}

const dayMs = 86_400_000;
const lifetimeMs = 3_650 * dayMs;
/** An authority is replaced when this little of its life is left. */
const reserveMs = 365 * dayMs;
/** Clocks of others may be behind. */
export const backdateMs = 300_000;

export function newAuthority(name: string, facts: Pick<AuthorityFacts, "nowMs" | "given">): KeyPair {
  const { nowMs, given } = facts;
  return given ?? createAuthority(name, nowMs - backdateMs, nowMs + lifetimeMs);
}

/** What the authority is to be next; the same value while it stays as it is. */
export function advance(name: string, authority: Authority, facts: AuthorityFacts): Authority {
  const { nowMs, overlapMs, given } = facts;
  const { current, next, previous, sinceMs } = authority;
  const wish = facts.wish === undefined ? {} : { wish: facts.wish };
  const rested = nowMs - sinceMs >= overlapMs;
  if (next) {
    if (!facts.trusted || !rested) return authority;
    return { current: next, previous: current.certificate, sinceMs: nowMs, ...wishOf(authority) };
  }
  if (previous !== undefined) {
    if (!facts.served || !rested) return authority;
    return { current, sinceMs: nowMs, ...wishOf(authority) };
  }
  const other = given !== undefined && given.certificate.trim() !== current.certificate.trim();
  const asked = facts.wish !== undefined && facts.wish !== authority.wish;
  const old = given === undefined && expiryOf(current.certificate) - nowMs < reserveMs;
  if (!other && !asked && !old) return authority;
  if (given !== undefined && !other) return { ...authority, ...wish };
  return { current, next: newAuthority(name, facts), sinceMs: nowMs, ...wishOf(authority), ...wish };
}

function wishOf({ wish }: Authority): Pick<Authority, "wish"> {
  return wish === undefined ? {} : { wish };
}

/** Who issues now: the current authority, or the next one when the current one's key is lost. */
export function issuerOf({ current, next }: Authority): KeyPair {
  return current.key === "" && next ? next : current;
}

/** Everyone who is trusted, in one text: the same for the same authorities, whatever their phase. */
export function bundleOf({ current, next, previous }: Authority): string {
  const certificates = [current.certificate, next?.certificate, previous].flatMap((each) =>
    each === undefined ? [] : [`${each.trim()}\n`],
  );
  return [...new Set(certificates)].sort().join("");
}

/** Names a trust: members that were started with another one must be restarted. */
export function trustOf(bundle: string): string {
  return hash("sha256", bundle.replaceAll(/\s+/g, "")).slice(0, 12);
}

export function expiryOf(certificate: string): number {
  return Date.parse(new X509Certificate(certificate).validTo);
}
