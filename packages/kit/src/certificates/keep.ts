/** Keeps the certificates of an application: an authority, what it issues, and the Secrets that hold both. */
import {
  type Authority,
  type AuthorityFacts,
  advanceAuthority,
  issuerOf,
  newAuthority,
  trustBundle,
} from "./authority.ts";
import { isCompleteLeaf, type Leaf, type LeafSpec, leafFor } from "./leaf.ts";
import {
  type CertificateSecrets,
  type SecretIdentity,
  type SecretInput,
  type SecretObject,
  secretText,
  tlsSecretKeys,
} from "./secrets.ts";

/** Where an operator keeps one Secret: a child of its own, or one of many by its key. */
export interface SecretSlot {
  /** As it was last seen. */
  get(): SecretObject | undefined;
  /** As the API server has it now. */
  live(): Promise<SecretObject | undefined>;
  apply(secret: SecretInput): Promise<unknown>;
}

/** What is kept where, by whom, and for when. */
interface KeepOptions {
  readonly secrets: CertificateSecrets;
  readonly slot: SecretSlot;
  readonly identity: SecretIdentity;
  readonly nowMs: number;
  /** Nothing is written, and what exists stays as it is. Default: false. */
  readonly paused?: boolean;
}

/** For {@link keepAuthority}. */
export interface KeepAuthorityOptions extends KeepOptions, Omit<AuthorityFacts, "trusted" | "served"> {
  /** The name that an authority is given when it is made. */
  readonly commonName: string;
  /** Certificates that it has issued, if there are any: beside each lies whom its server trusts. */
  readonly issued: readonly (SecretObject | undefined)[];
  /** See {@link AuthorityFacts.trusted}. */
  readonly trusted: (authority: Authority) => boolean | Promise<boolean>;
  /** See {@link AuthorityFacts.served}. */
  readonly served: (authority: Authority) => boolean | Promise<boolean>;
}

/** The authority as it was found and as it is now; the same value when nothing changed. */
export interface KeptAuthority {
  readonly before: Authority | undefined;
  /** Undefined only while paused, when there is none. */
  readonly authority: Authority | undefined;
}

/**
 * Reads an authority, takes it to its next phase if the time for that has come, and writes it.
 *
 * When its Secret is gone, its key is lost, but its certificate is known from what it issued: servers go on with what
 * they have, and another authority replaces it in the same three passes as any.
 */
export async function keepAuthority(options: KeepAuthorityOptions): Promise<KeptAuthority> {
  const { secrets, slot, identity, commonName, paused = false } = options;
  const { nowMs, overlapMs, rotation, given } = options;
  const before = secrets.readAuthority(slot.get() ?? (await slot.live())) ?? lostAuthority(options);
  if (paused) return { before, authority: before };
  const authority = before
    ? advanceAuthority(commonName, before, {
        ...{ nowMs, overlapMs, rotation, given },
        trusted: await options.trusted(before),
        served: await options.served(before),
      })
    : {
        current: newAuthority(commonName, { nowMs, given }),
        sinceMs: nowMs,
        ...(rotation === undefined ? {} : { rotation }),
      };
  await slot.apply(secrets.authority(identity, authority));
  return { before, authority };
}

function lostAuthority({ issued, commonName, nowMs, given }: KeepAuthorityOptions): Authority | undefined {
  const [bundle] = issued.flatMap((secret) => secretText(secret, tlsSecretKeys.authority) ?? []);
  if (bundle === undefined) return undefined;
  const next = newAuthority(commonName, { nowMs, given });
  return { current: { certificate: bundle, key: "" }, next, sinceMs: nowMs };
}

/** For {@link keepLeaf}. */
export interface KeepLeafOptions extends KeepOptions {
  readonly authority: Authority;
  readonly spec: LeafSpec;
}

/** Reads a certificate, replaces it if it is not as it should be or grows old, and writes it with whom to trust. */
export async function keepLeaf(
  options: KeepLeafOptions,
): Promise<{ readonly leaf: Leaf; readonly isNew: boolean }> {
  const { secrets, slot, identity, authority, spec, nowMs, paused = false } = options;
  const before = secrets.readLeaf(slot.get() ?? (await slot.live()));
  // No server trusts the issuer that replaces a lost one yet: the current certificate stays in use.
  const stays = isCompleteLeaf(before) && (paused || authority.current.key === "");
  const leaf = stays ? before : leafFor(issuerOf(authority), spec, before, nowMs);
  if (!paused) await slot.apply(secrets.leaf(identity, leaf, trustBundle(authority)));
  return { leaf, isNew: leaf !== before };
}
