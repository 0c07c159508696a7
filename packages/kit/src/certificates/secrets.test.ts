import { describe, expect, it } from "vitest";
import { type Authority, newAuthority, trustBundle } from "./authority.ts";
import { leafFor } from "./leaf.ts";
import { CertificateSecrets, type SecretObject, secretKeyPair, secretText } from "./secrets.ts";

const nowMs = Date.parse("2026-01-01T00:00:00Z");
const secrets = new CertificateSecrets({ since: "x/since", rotation: "x/rotate", seal: "x/seal" });
const [current, next] = [newAuthority("a", { nowMs }), newAuthority("b", { nowMs })];

describe("the Secret of an authority", () => {
  it.each<[string, Authority]>([
    ["at rest", { current, sinceMs: nowMs }],
    ["with a next one", { current, next, sinceMs: nowMs, rotation: "2" }],
    ["with a previous one", { current, previous: next.certificate, sinceMs: nowMs }],
  ])("is read as it was written: %s", (_, authority) => {
    const written = secrets.authority({ name: "ca", labels: { app: "x" } }, authority) as SecretObject;
    expect(secrets.readAuthority(written)).toEqual(authority);
    expect(secretText(written, "ca.crt")).toBe(trustBundle(authority));
    expect(written.metadata).toMatchObject({ name: "ca", labels: { app: "x" } });
  });

  it("is nothing without a certificate and a key", () => {
    expect(secrets.readAuthority(undefined)).toBeUndefined();
    const { data, ...rest } = secrets.authority({ name: "ca" }, { current, sinceMs: 0 }) as SecretObject;
    const { "tls.key": _, ...incomplete } = data ?? {};
    expect(secrets.readAuthority({ ...rest, data: incomplete })).toBeUndefined();
  });
});

describe("the Secret of a leaf", () => {
  it("is read as it was written, and without a seal when a user wrote it", () => {
    const spec = { commonName: "m", names: ["m.svc"], usages: ["server" as const], lifetimeMs: 3_600_000 };
    const leaf = leafFor(current, spec, undefined, nowMs);
    const written = secrets.leaf({ name: "m-tls" }, leaf, current.certificate) as SecretObject;
    expect(secrets.readLeaf(written)).toEqual(leaf);
    expect(written.type).toBe("kubernetes.io/tls");
    const { annotations: _, ...metadata } = written.metadata;
    expect(secrets.readLeaf({ ...written, metadata })).toEqual(secretKeyPair(written));
  });
});
