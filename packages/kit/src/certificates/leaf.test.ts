import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
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

describe("a clock that is set back", () => {
  const leaf = leafFor(issuer, spec, undefined, nowMs);
  const isValidAt = (certificate: string, atMs: number) => {
    const { validFromDate, validToDate } = new X509Certificate(certificate);
    return validFromDate.getTime() <= atMs && atMs <= validToDate.getTime();
  };

  it("by up to a day changes nothing: authority and leaf are valid", () => {
    const earlierMs = nowMs - 24 * hourMs;
    expect(leafFor(issuer, spec, leaf, earlierMs)).toBe(leaf);
    expect([issuer, leaf].map(({ certificate }) => isValidAt(certificate, earlierMs))).toEqual([true, true]);
  });

  it("by more than a day has a leaf replaced that is not valid yet, once", () => {
    const earlierMs = nowMs - 24 * hourMs - 1_000;
    const again = leafFor(issuer, spec, leaf, earlierMs);
    expect(again).not.toBe(leaf);
    expect(isValidAt(again.certificate, earlierMs)).toBe(true);
    expect(leafFor(issuer, spec, again, earlierMs)).toBe(again);
  });
});

it("a leaf follows a lifetime that becomes much shorter", () => {
  const leaf = leafFor(issuer, spec, undefined, nowMs);
  const shorter = { ...spec, lifetimeMs: 3 * hourMs };
  const again = leafFor(issuer, shorter, leaf, nowMs);
  expect(again).not.toBe(leaf);
  expect(leafFor(issuer, shorter, again, nowMs + hourMs)).toBe(again);
});
