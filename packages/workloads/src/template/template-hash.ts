/** The label that tells one pod template from another. */
import type { PodTemplateSpec } from "@keelson/core/kinds";
import { printedTemplate } from "./printed-template.ts";

const alphabet = "bcdfghjklmnpqrstvwxz2456789";

/** A short name for a template; `collisions` makes another one when two templates share a name. */
export function templateHash(template: PodTemplateSpec, collisions: number | undefined): string {
  const bytes = [...Buffer.from(printedTemplate(template))];
  if (collisions !== undefined) {
    bytes.push(
      collisions & 255,
      (collisions >> 8) & 255,
      (collisions >> 16) & 255,
      collisions >>> 24,
      0,
      0,
      0,
      0,
    );
  }
  return safeEncode(String(fnv1a(bytes)));
}

/** FNV-1a in 32 bits. */
export function fnv1a(bytes: Iterable<number>): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

/** FNV-1 in 32 bits. */
export function fnv1(bytes: Iterable<number>): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = (Math.imul(hash, 0x01000193) ^ byte) >>> 0;
  return hash;
}

/** The text in characters of which no word can be made. */
export function safeEncode(text: string): string {
  return [...Buffer.from(text)].map((byte) => alphabet[byte % alphabet.length]).join("");
}
