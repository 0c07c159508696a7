/** One certificate: for whom, by whom, until when, and whether it is time for another. Pure. */
import { hash } from "node:crypto";
import { backdateMs, createLeaf, type KeyPair } from "@keelson/pki";
import { expiryOf } from "./authority.ts";

/** What a certificate is to say. */
export interface LeafSpec {
  /** May be empty: some servers take a common name for a user. */
  readonly commonName: string;
  readonly organization?: string;
  /** DNS names and addresses. */
  readonly names: readonly string[];
  readonly usages: readonly ("server" | "client")[];
  readonly lifetimeMs: number;
}

/** A certificate with its key. */
export interface Leaf extends KeyPair {
  /** Digest of the issuer, of the spec, and of the certificate itself: another value means that it must be replaced. */
  readonly seal: string;
}

/**
 * The current leaf, as long as it is by this issuer, for these names, unchanged, valid already, and before two thirds of
 * its lifetime; otherwise a new one.
 */
export function leafFor(
  issuer: KeyPair,
  spec: LeafSpec,
  current: Partial<Leaf> | undefined,
  nowMs: number,
): Leaf {
  if (isValid(issuer, spec, current, nowMs)) return current;
  const { commonName, organization, names, usages, lifetimeMs } = spec;
  const pair = createLeaf(issuer, {
    subject: { commonName, ...(organization === undefined ? {} : { organizations: [organization] }) },
    names,
    usages,
    notBeforeMs: nowMs - backdateMs,
    notAfterMs: nowMs + lifetimeMs,
  });
  return { ...pair, seal: sealOf(issuer, spec, pair) };
}

function isValid(
  issuer: KeyPair,
  spec: LeafSpec,
  current: Partial<Leaf> | undefined,
  nowMs: number,
): current is Leaf {
  if (!isCompleteLeaf(current) || current.seal !== sealOf(issuer, spec, current)) return false;
  const leftMs = expiryOf(current.certificate) - nowMs;
  // The last third is reserve for everything that may delay the renewal. More than the whole is left when the clock was set
  // back by so much that it is not valid yet, and when the spec asks for a shorter life now.
  return leftMs > spec.lifetimeMs / 3 && leftMs <= spec.lifetimeMs + backdateMs;
}

/** Whether certificate, key and seal are all there. */
export function isCompleteLeaf(leaf: Partial<Leaf> | undefined): leaf is Leaf {
  return leaf?.certificate !== undefined && leaf.key !== undefined && leaf.seal !== undefined;
}

function sealOf(issuer: KeyPair, { commonName, names, usages }: LeafSpec, pair: KeyPair): string {
  const parts = [issuer.certificate.trim(), commonName, names, usages, pair.certificate, pair.key];
  return hash("sha256", JSON.stringify(parts)).slice(0, 16);
}
