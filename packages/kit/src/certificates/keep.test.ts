import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { issuerOf, trustBundle } from "./authority.ts";
import { keepAuthority, keepLeaf, type SecretSlot } from "./keep.ts";
import { CertificateSecrets, type SecretInput, type SecretObject, secretText } from "./secrets.ts";

const nowMs = Date.parse("2026-01-01T00:00:00Z");
const secrets = new CertificateSecrets({ since: "x/since", rotation: "x/rotate", seal: "x/seal" });

/** A Secret that the cache sees only when it is told to. */
class Slot implements SecretSlot {
  stored: SecretObject | undefined;
  isCached = true;
  applied = 0;

  get() {
    return this.isCached ? this.stored : undefined;
  }

  async live() {
    return this.stored;
  }

  async apply(secret: SecretInput) {
    this.applied++;
    this.stored = secret as SecretObject;
  }
}

function keeping() {
  const [authoritySlot, leafSlot] = [new Slot(), new Slot()];
  const keep = async (
    options: { atMs?: number; rotation?: string; paused?: boolean; ready?: boolean } = {},
  ) => {
    const { atMs = nowMs, rotation, paused = false, ready = true } = options;
    const common = { secrets, nowMs: atMs, paused };
    const { before, authority } = await keepAuthority({
      ...common,
      slot: authoritySlot,
      identity: { name: "ca" },
      commonName: "a",
      overlapMs: 0,
      rotation,
      issued: [leafSlot.stored],
      trusted: () => ready,
      served: () => ready,
    });
    if (!authority) return undefined;
    const { leaf, isNew } = await keepLeaf({
      ...common,
      slot: leafSlot,
      identity: { name: "tls" },
      authority,
      spec: { commonName: "", names: ["db.default.svc"], usages: ["server"], lifetimeMs: 90 * 86_400_000 },
    });
    return { before, authority, leaf, isNew };
  };
  return { authoritySlot, leafSlot, keep };
}

function isIssuedBy(
  leaf: { readonly certificate: string },
  issuer: { readonly certificate: string },
): boolean {
  return new X509Certificate(leaf.certificate).verify(new X509Certificate(issuer.certificate).publicKey);
}

describe("certificates that are kept", () => {
  it("are made once, also while the cache does not show them yet", async () => {
    const { authoritySlot, leafSlot, keep } = keeping();
    const first = await keep();
    expect(first?.before).toBeUndefined();
    expect(first?.isNew).toBe(true);
    authoritySlot.isCached = false;
    leafSlot.isCached = false;
    const second = await keep();
    expect(second?.authority).toEqual(first?.authority);
    expect(second?.isNew).toBe(false);
    expect(secretText(leafSlot.stored, "ca.crt")).toBe(first && trustBundle(first.authority));
  });

  it("are not rotated by a request that is older than they are", async () => {
    const { keep } = keeping();
    const first = await keep({ rotation: "1" });
    expect((await keep({ rotation: "1" }))?.authority).toEqual(first?.authority);
    expect((await keep({ rotation: "2" }))?.authority.next).toBeDefined();
  });

  it("stay as they are while paused, and are not made then", async () => {
    const { authoritySlot, leafSlot, keep } = keeping();
    expect(await keep({ paused: true })).toBeUndefined();
    const first = await keep();
    const applied = authoritySlot.applied + leafSlot.applied;
    const later = await keep({ paused: true, rotation: "2", atMs: nowMs + 89 * 86_400_000 });
    expect(later?.authority).toEqual(first?.authority);
    expect(later?.leaf).toEqual(first?.leaf);
    expect(authoritySlot.applied + leafSlot.applied).toBe(applied);
  });

  it("stay trusted when the authority's Secret is deleted: another authority replaces it step by step", async () => {
    const { authoritySlot, keep } = keeping();
    const first = await keep();
    authoritySlot.stored = undefined;
    const second = await keep({ ready: false });
    expect(second?.leaf).toEqual(first?.leaf);
    expect(trustBundle(second?.authority as never)).toContain(first?.authority.current.certificate.trim());
    const third = await keep();
    expect(third?.isNew).toBe(true);
    expect(isIssuedBy(third?.leaf as never, issuerOf(third?.authority as never))).toBe(true);
    expect(trustBundle(third?.authority as never)).toContain(first?.authority.current.certificate.trim());
    const last = await keep();
    expect(trustBundle(last?.authority as never)).not.toContain(first?.authority.current.certificate.trim());
    expect(last?.leaf).toEqual(third?.leaf);
  });
});
