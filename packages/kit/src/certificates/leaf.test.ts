import { X509Certificate } from "node:crypto";
import { expect, it } from "vitest";
import { newAuthority } from "./authority.ts";
import { type LeafSpec, leafFor } from "./leaf.ts";

const hourMs = 3_600_000;
const nowMs = Date.parse("2026-01-01T00:00:00Z");
const issuer = newAuthority("a", { nowMs });
const spec: LeafSpec = { commonName: "m", names: ["m.svc"], usages: ["server"], lifetimeMs: 90 * hourMs };

it("a leaf stays until two thirds of its lifetime are over", () => {
  const leaf = leafFor(issuer, spec, undefined, nowMs);
  expect(new X509Certificate(leaf.certificate).checkHost("m.svc")).toBe("m.svc");
  expect(leafFor(issuer, spec, leaf, nowMs + 59 * hourMs)).toBe(leaf);
  expect(leafFor(issuer, spec, leaf, nowMs + 61 * hourMs)).not.toBe(leaf);
});

it("a leaf is replaced for other names, by another issuer, and when someone changed it", () => {
  const leaf = leafFor(issuer, spec, undefined, nowMs);
  expect(leafFor(issuer, { ...spec, names: ["n.svc"] }, leaf, nowMs)).not.toBe(leaf);
  expect(leafFor(newAuthority("b", { nowMs }), spec, leaf, nowMs)).not.toBe(leaf);
  const touched = { ...leaf, key: `${leaf.key} ` };
  expect(leafFor(issuer, spec, touched, nowMs).key).not.toBe(touched.key);
});
