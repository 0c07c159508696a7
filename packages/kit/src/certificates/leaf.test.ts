import { X509Certificate } from "node:crypto";
import { expect, it } from "vitest";
import { newAuthority } from "./authority.ts";
import { type LeafWish, leafFor } from "./leaf.ts";

const hourMs = 3_600_000;
const nowMs = Date.parse("2026-01-01T00:00:00Z");
const issuer = newAuthority("a", { nowMs });
const wish: LeafWish = { commonName: "m", names: ["m.svc"], usages: ["server"], lifetimeMs: 90 * hourMs };

it("stays until two thirds of its life are over", () => {
  const leaf = leafFor(issuer, wish, undefined, nowMs);
  expect(new X509Certificate(leaf.certificate).checkHost("m.svc")).toBe("m.svc");
  expect(leafFor(issuer, wish, leaf, nowMs + 59 * hourMs)).toBe(leaf);
  expect(leafFor(issuer, wish, leaf, nowMs + 61 * hourMs)).not.toBe(leaf);
});

it("is issued anew for other names, by another issuer, and when someone has touched it", () => {
  const leaf = leafFor(issuer, wish, undefined, nowMs);
  expect(leafFor(issuer, { ...wish, names: ["n.svc"] }, leaf, nowMs)).not.toBe(leaf);
  expect(leafFor(newAuthority("b", { nowMs }), wish, leaf, nowMs)).not.toBe(leaf);
  const touched = { ...leaf, key: `${leaf.key} ` };
  expect(leafFor(issuer, wish, touched, nowMs).key).not.toBe(touched.key);
});
