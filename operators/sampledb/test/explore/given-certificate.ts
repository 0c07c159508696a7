/** A certificate that a person gives in a Secret, replaces and damages. */
import { leafFor, newAuthority } from "@keelson/kit";
import type { Disturbance, World } from "@keelson/testing";
import { Secret } from "keelson/kinds";
import type { SimRedis } from "./application.ts";

type RedisWorld = World<SimRedis>;

export const givenSecret = "given-tls";
const ref = { namespace: "default", name: givenSecret };
const lifetimeMs = 90 * 86_400_000;

function encoded(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  );
}

/** Of an authority that nobody has seen before. */
function newCertificate({ clock }: RedisWorld): Record<string, string> {
  const nowMs = clock.now();
  const authority = newAuthority("given", { nowMs });
  const names = ["db.default.svc"];
  const spec = { commonName: "", names, usages: ["server", "client"] as const, lifetimeMs };
  const { certificate, key } = leafFor(authority, spec, undefined, nowMs);
  return encoded({ "ca.crt": authority.certificate, "tls.crt": certificate, "tls.key": key });
}

export async function giveCertificate(world: RedisWorld): Promise<void> {
  await world.client.kind(Secret).create({ metadata: ref, data: newCertificate(world) });
}

async function write(world: RedisWorld, data: Readonly<Record<string, string | null>>): Promise<void> {
  if (!(await world.client.kind(Secret).find(ref))) return;
  await world.client.kind(Secret).patch(ref, { type: "merge", body: { data } as never });
}

export const givenCertificateEdits: readonly Disturbance<SimRedis>[] = [
  {
    name: "edit: the given certificate is replaced, and its authority",
    begin: async (world) => await write(world, newCertificate(world)),
  },
  {
    name: "edit: the given Secret is incomplete",
    lastsMs: 120_000,
    begin: async (world) => {
      await write(world, { "tls.key": null });
      return async () => await write(world, newCertificate(world));
    },
  },
];
