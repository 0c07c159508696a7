/** Certificates as Secrets: read from them, and as they are to be. */

import type { Leaf } from "@keelson/kit";
import { type Authority, bundleOf } from "@keelson/kit";
import type { Desired, ObjectOf } from "keelson";
import type { Secret } from "keelson/kinds";
import type { KeyPair } from "keelson/pki";
import { annotations } from "../api/names.ts";
import { type ClusterName, selectorLabels } from "../resources/names.ts";
import { secretKeys } from "./names.ts";

export type SecretObject = ObjectOf<typeof Secret>;

export function textOf(secret: SecretObject | undefined, key: string): string | undefined {
  const value = secret?.data?.[key];
  return value === undefined ? undefined : Buffer.from(value, "base64").toString();
}

export function pairOf(secret: SecretObject | undefined): KeyPair | undefined {
  const certificate = textOf(secret, secretKeys.certificate);
  const key = textOf(secret, secretKeys.key);
  return certificate === undefined || key === undefined ? undefined : { certificate, key };
}

const next = { certificate: "next.crt", key: "next.key" } as const;
const previous = "previous.crt";

export function authorityFrom(secret: SecretObject | undefined): Authority | undefined {
  const current = pairOf(secret);
  if (!secret || !current) return undefined;
  const notes = secret.metadata.annotations ?? {};
  const [certificate, key] = [textOf(secret, next.certificate), textOf(secret, next.key)];
  const old = textOf(secret, previous);
  const wish = notes[annotations.rotateAuthorities];
  return {
    current,
    ...(certificate !== undefined && key !== undefined ? { next: { certificate, key } } : {}),
    ...(old === undefined ? {} : { previous: old }),
    sinceMs: Date.parse(notes[annotations.since] ?? "") || 0,
    ...(wish === undefined ? {} : { wish }),
  };
}

export function authoritySecret(
  cluster: ClusterName,
  name: string,
  authority: Authority,
): Desired<typeof Secret> {
  const { current, wish, sinceMs } = authority;
  return {
    metadata: {
      name,
      labels: selectorLabels(cluster),
      annotations: {
        [annotations.since]: new Date(sinceMs).toISOString(),
        ...(wish === undefined ? {} : { [annotations.rotateAuthorities]: wish }),
      },
    },
    type: "Opaque",
    data: encoded({
      [secretKeys.authority]: bundleOf(authority),
      [secretKeys.certificate]: current.certificate,
      [secretKeys.key]: current.key,
      [next.certificate]: authority.next?.certificate,
      [next.key]: authority.next?.key,
      [previous]: authority.previous,
    }),
  };
}

export function leafFrom(secret: SecretObject | undefined): Partial<Leaf> | undefined {
  const pair = pairOf(secret);
  const seal = secret?.metadata.annotations?.[annotations.seal];
  return pair && { ...pair, ...(seal === undefined ? {} : { seal }) };
}

export function leafSecret(
  cluster: ClusterName,
  name: string,
  leaf: Leaf,
  bundle: string,
): Desired<typeof Secret> {
  return {
    metadata: {
      name,
      labels: selectorLabels(cluster),
      annotations: { [annotations.seal]: leaf.seal },
    },
    type: "kubernetes.io/tls",
    data: encoded({
      [secretKeys.authority]: bundle,
      [secretKeys.certificate]: leaf.certificate,
      [secretKeys.key]: leaf.key,
    }),
  };
}

function encoded(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, Buffer.from(value).toString("base64")]],
    ),
  );
}
