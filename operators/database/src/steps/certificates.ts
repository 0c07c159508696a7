/** Certificates of the servers: made and renewed by the operator, or given. Agents bring them to PostgreSQL by themselves. */
import { hash } from "node:crypto";
import {
  type Authority,
  advanceAuthority,
  CertificateSecrets,
  issuerOf,
  leafFor,
  newAuthority,
  secretKeyPair,
  secretText,
  tlsSecretKeys,
  trustBundle,
} from "@keelson/kit";
import { Secret } from "keelson/kinds";
import type { DatabaseObject } from "../api/database.ts";
import { annotations } from "../api/names.ts";
import type { Observed } from "../observe/observed.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import {
  authoritySecret,
  databaseName,
  instancesService,
  selectorLabels,
  tlsSecret,
} from "../resources/names.ts";

const secrets = new CertificateSecrets({
  since: annotations.since,
  rotation: annotations.rotateAuthority,
  seal: annotations.seal,
});

const lifetimeMs = 90 * 86_400_000;
/** How long clients get to learn of a new authority. */
const overlapMs = 10 * 60_000;

/** Whom clients trust; what is wrong with the Secret that was given. */
export type Trust = { readonly bundle: string } | { readonly missing: string };

export async function keepCertificates(
  object: DatabaseObject,
  ctx: DatabaseContext,
  before: Observed | undefined,
): Promise<Trust> {
  const database = databaseName(object);
  const { secret: given } = object.spec.tls;
  if (given !== undefined) {
    const found = await ctx.client.kind(Secret).find({ namespace: database.namespace, name: given });
    const bundle = secretText(found, tlsSecretKeys.authority);
    if (!secretKeyPair(found) || bundle === undefined) {
      return { missing: `Secret ${given} has no ca.crt, tls.crt and tls.key` };
    }
    return { bundle };
  }
  const nowMs = ctx.clock.now();
  const name = `${database.name} authority`;
  const found = ctx.own.secrets.get("authority") ?? (await ctx.own.secrets.live("authority"));
  const old: Authority = secrets.readAuthority(found) ?? {
    current: newAuthority(name, { nowMs }),
    sinceMs: nowMs,
  };
  const trust = hash("sha256", trustBundle(old));
  const reports = before?.instances.map(({ report }) => report) ?? [];
  const isEverywhere = reports.length > 0 && reports.every((report) => report?.trust === trust);
  const authority = advanceAuthority(name, old, {
    nowMs,
    overlapMs,
    trusted: isEverywhere,
    served: isEverywhere,
    rotation: object.metadata.annotations?.[annotations.rotateAuthority],
  });
  const labels = selectorLabels(database);
  await ctx.own.secrets.apply(
    "authority",
    secrets.authority({ name: authoritySecret(database), labels }, authority),
  );
  const current = secrets.readLeaf(ctx.own.secrets.get("tls") ?? (await ctx.own.secrets.live("tls")));
  const spec = { commonName: "", names: namesOf(object), usages: ["server", "client"] as const, lifetimeMs };
  const leaf = leafFor(issuerOf(authority), { ...spec, usages: [...spec.usages] }, current, nowMs);
  const bundle = trustBundle(authority);
  await ctx.own.secrets.apply("tls", secrets.leaf({ name: tlsSecret(database), labels }, leaf, bundle));
  return { bundle };
}

function namesOf(object: DatabaseObject): string[] {
  const database = databaseName(object);
  const { name, namespace } = database;
  const hosts = ["", "-ro", "-r", "-pooler"].flatMap((suffix) => {
    const host = `${name}${suffix}`;
    return [
      host,
      `${host}.${namespace}`,
      `${host}.${namespace}.svc`,
      `${host}.${namespace}.svc.cluster.local`,
    ];
  });
  const instances = `${instancesService(database)}.${namespace}.svc`;
  return [...hosts, `*.${instances}`, `*.${instances}.cluster.local`, "localhost", "127.0.0.1"];
}
