/**
 * The certificate of the webhooks, and when it is renewed. Pure: from what a Secret holds and the time to what it
 * should hold.
 *
 * A new authority is published before anything is signed by it: servers that know only the old one would otherwise
 * refuse the first connection. States of an authority: published beside the old one → trusted, after `settleMs` → signs
 * the next leaf → dropped from the bundle when it has expired.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { backdateMs, createAuthority, createLeaf, pemBlocks } from "@keelson/pki";

/** What the Secret holds, in PEM. `ca.crt` has every authority that may have signed, newest first. */
export interface Certificates {
  readonly "tls.crt": string;
  readonly "tls.key": string;
  readonly "ca.crt": string;
  /** Of the newest authority. Absent when another keeps the Secret. */
  readonly "ca.key"?: string;
}

/** How long certificates live. */
export interface CertificateLives {
  /** Default: a year. */
  readonly authorityMs: number;
  /** Default: 90 days. */
  readonly leafMs: number;
  /** How long an authority is published before it signs. Default: 10 minutes. */
  readonly settleMs: number;
}

const dayMs = 86_400_000;
export const usualLives: CertificateLives = {
  authorityMs: 365 * dayMs,
  leafMs: 90 * dayMs,
  settleMs: 600_000,
};

/** Renewed when this part of a life is over. */
const renewAt = 2 / 3;

/** What should be, and when to look again. */
export interface CertificatePlan {
  readonly certificates: Certificates;
  /** False when everything is as it should be. */
  readonly changed: boolean;
  readonly nextAtMs: number;
}

interface Held {
  readonly certificate: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Says what the Secret should hold now. `names` are those that servers call the webhooks by. */
export function planCertificates(
  held: Partial<Certificates>,
  names: readonly string[],
  nowMs: number,
  lives: CertificateLives = usualLives,
): CertificatePlan {
  const known = readAll(held["ca.crt"]);
  let authorities = known.filter((each) => isValid(each, nowMs));
  let key = held["ca.key"];
  // Stored and not only left out here: replicas must not publish different bundles.
  let changed = authorities.length < known.length;
  const newest = authorities[0];
  if (!newest || !key || !isKeyOf(newest, key) || nowMs >= due(newest)) {
    const made = createAuthority("keelson-webhook", nowMs - backdateMs, nowMs + lives.authorityMs);
    key = made.key;
    authorities = [heldBy(made.certificate), ...authorities];
    changed = true;
  }
  const [signer] = authorities as [Held];
  let leaf = { certificate: held["tls.crt"] ?? "", key: held["tls.key"] ?? "" };
  const current = readAll(leaf.certificate)[0];
  const usable =
    current &&
    isValid(current, nowMs) &&
    isKeyOf(current, leaf.key) &&
    isFor(current, names) &&
    isSignedBy(current, authorities);
  const settledAt = signer.fromMs + backdateMs + lives.settleMs;
  const wanted = !usable || nowMs >= due(current);
  // One that serves can wait until its successor will be believed.
  if (wanted && (!usable || nowMs >= settledAt)) {
    leaf = createLeaf(
      { certificate: signer.certificate, key },
      {
        subject: { commonName: names[0] ?? "webhook" },
        names,
        usages: ["server"],
        notBeforeMs: nowMs - backdateMs,
        notAfterMs: Math.min(nowMs + lives.leafMs, signer.untilMs),
      },
    );
    changed = true;
  }
  const [serving] = readAll(leaf.certificate) as [Held];
  const certificates: Certificates = {
    "tls.crt": leaf.certificate,
    "tls.key": leaf.key,
    "ca.crt": authorities.map(({ certificate }) => certificate).join(""),
    "ca.key": key,
  };
  const leafDue = Math.max(due(serving), settledAt);
  return { certificates, changed, nextAtMs: Math.min(due(signer), leafDue) };
}

/** Why certificates that another keeps cannot be served; undefined when they can. */
export function certificateProblem(held: Partial<Certificates>, nowMs: number): string | undefined {
  if (!held["tls.crt"] || !held["tls.key"]) return "it has no tls.crt and tls.key yet";
  const [leaf] = readAll(held["tls.crt"]);
  if (!leaf) return "its tls.crt is no certificate";
  if (!isKeyOf(leaf, held["tls.key"])) return "its tls.key is not the key of its tls.crt";
  return leaf.untilMs > nowMs ? undefined : "its certificate has expired";
}

/**
 * Whether a bundle that is published is later than ours: another replica has seen a newer Secret, and what it wrote
 * must not be undone.
 */
export function isLater(published: string, ours: string, nowMs: number): boolean {
  const [theirs, own] = [readAll(published), readAll(ours)];
  const [newest, ownNewest] = [theirs[0], own[0]];
  // One that is not valid yet was made by a clock that was ahead.
  if (!newest || !ownNewest || newest.fromMs > nowMs) return false;
  if (newest.certificate !== ownNewest.certificate) return newest.fromMs > ownNewest.fromMs;
  // The same authorities without those that have expired.
  return (
    theirs.length < own.length &&
    theirs.every((each) => own.some((one) => one.certificate === each.certificate))
  );
}

/** Not yet, when the clock was set back by more than what certificates are backdated by. */
function isValid({ fromMs, untilMs }: Held, nowMs: number): boolean {
  return fromMs <= nowMs && nowMs < untilMs;
}

function due({ fromMs, untilMs }: Held): number {
  return fromMs + backdateMs + (untilMs - fromMs - backdateMs) * renewAt;
}

function readAll(bundle: string | undefined): Held[] {
  if (!bundle) return [];
  try {
    return [...pemBlocks(bundle)]
      .filter(({ label }) => label === "CERTIFICATE")
      .map(({ text }) => heldBy(`${text}\n`));
  } catch {
    // Someone wrote something else there: it is made again.
    return [];
  }
}

function heldBy(certificate: string): Held {
  const { validFromDate, validToDate } = new X509Certificate(certificate);
  return { certificate, fromMs: validFromDate.getTime(), untilMs: validToDate.getTime() };
}

/** Someone may have written one of the two alone. */
function isKeyOf({ certificate }: Held, key: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

function isFor({ certificate }: Held, names: readonly string[]): boolean {
  const parsed = new X509Certificate(certificate);
  return names.every((name) =>
    isIP(name) === 0 ? parsed.checkHost(name) !== undefined : parsed.checkIP(name) !== undefined,
  );
}

function isSignedBy({ certificate }: Held, authorities: readonly Held[]): boolean {
  const leaf = new X509Certificate(certificate);
  return authorities.some((each) => leaf.verify(new X509Certificate(each.certificate).publicKey));
}
