/** One certificate: for whom, by whom, until when, and whether it is time for another. Pure. */
import { hash, X509Certificate } from "node:crypto";
import { createLeaf, type KeyPair } from "@keelson/pki";
import { backdateMs } from "./authority.ts";

export interface LeafWish {
  readonly commonName: string;
  readonly organization?: string;
  readonly names: readonly string[];
  readonly usages: readonly ("server" | "client")[];
  readonly lifetimeMs: number;
}

export interface Leaf extends KeyPair {
  /** Digest of who issued it, for whom, and of itself: another value means that it must be issued anew. */
  readonly seal: string;
}

/** The leaf that stands, as long as it is by this issuer, for these names, unharmed and young enough; else a new one. */
export function leafFor(
  issuer: KeyPair,
  wish: LeafWish,
  standing: Partial<Leaf> | undefined,
  nowMs: number,
): Leaf {
  if (isGood(issuer, wish, standing, nowMs)) return standing;
  const { commonName, organization, names, usages, lifetimeMs } = wish;
  const pair = createLeaf(issuer, {
    subject: { commonName, ...(organization === undefined ? {} : { organizations: [organization] }) },
    names,
    usages,
    notBeforeMs: nowMs - backdateMs,
    notAfterMs: nowMs + lifetimeMs,
  });
  return { ...pair, seal: sealOf(issuer, wish, pair) };
}

function isGood(
  issuer: KeyPair,
  wish: LeafWish,
  standing: Partial<Leaf> | undefined,
  nowMs: number,
): standing is Leaf {
  if (!isWhole(standing) || standing.seal !== sealOf(issuer, wish, standing)) return false;
  return nowMs < renewalOf(standing.certificate);
}

/** All of its parts are there. */
export function isWhole(leaf: Partial<Leaf> | undefined): leaf is Leaf {
  return leaf?.certificate !== undefined && leaf.key !== undefined && leaf.seal !== undefined;
}

/** After two thirds of its life: what is left is for everything that may delay it. */
function renewalOf(certificate: string): number {
  const { validFrom, validTo } = new X509Certificate(certificate);
  const [from, to] = [Date.parse(validFrom) + backdateMs, Date.parse(validTo)];
  return from + ((to - from) * 2) / 3;
}

function sealOf(issuer: KeyPair, { commonName, names, usages }: LeafWish, pair: KeyPair): string {
  const parts = [issuer.certificate.trim(), commonName, names, usages, pair.certificate, pair.key];
  return hash("sha256", JSON.stringify(parts)).slice(0, 16);
}
