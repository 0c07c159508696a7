/** Certificates: made and renewed by the operator, or given; servers are told to read them again when they change. */
import { X509Certificate } from "node:crypto";
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
import { annotations } from "../api/names.ts";
import type { SampleDBObject } from "../api/sampledb.ts";
import type { TlsTrust } from "../engine/connection.ts";
import { RedisError } from "../engine/errors.ts";
import type { DatabaseMemory } from "../observe/memory.ts";
import type { Gathered } from "../observe/observe.ts";
import { factsOf } from "../observe/observed.ts";
import type { SampleDBContext } from "../resources/declaration.ts";
import { databaseName, objectNames, selectorLabels, serviceHost } from "../resources/names.ts";
import { paths } from "../resources/settings.ts";

export interface Certificates {
  /** How the operator recognizes servers. */
  readonly trust: TlsTrust;
  /** SHA-256 of the certificate that servers are to present. */
  readonly fingerprint: string;
  /** When whom to trust last changed. */
  readonly changedMs: number;
}

const secrets = new CertificateSecrets({
  since: annotations.since,
  rotation: annotations.rotateAuthorities,
  seal: annotations.seal,
});

const lifetimeMs = 2_160 * 3_600_000;
/** The kubelet takes up to about two minutes to bring a changed Secret into running pods. */
const deliveryMs = 150_000;
/** How often a server is told to read its files again while it presents an old certificate. */
const againMs = 5_000;

/** Undefined without TLS, or while the given Secret is not complete. */
export async function keepCertificates(
  db: SampleDBObject,
  ctx: SampleDBContext,
  memory: DatabaseMemory,
): Promise<Certificates | undefined> {
  if (!db.spec.tls) return undefined;
  const database = databaseName(db);
  const serverName = serviceHost(database, objectNames(database).writes);
  if (db.spec.tls.secretName !== undefined) {
    const pair = secretKeyPair(ctx.read.givenTls);
    const ca = secretText(ctx.read.givenTls, tlsSecretKeys.authority);
    if (!pair || ca === undefined) return undefined;
    return {
      trust: { ca, serverName },
      fingerprint: new X509Certificate(pair.certificate).fingerprint256,
      changedMs: 0,
    };
  }
  const nowMs = ctx.clock.now();
  const found = ctx.own.authority.get() ?? (await ctx.own.authority.live());
  const before: Authority = secrets.readAuthority(found) ?? {
    current: newAuthority(`${database.name} authority`, { nowMs }),
    sinceMs: nowMs,
  };
  const authority = advanceAuthority(`${database.name} authority`, before, {
    nowMs,
    overlapMs: deliveryMs,
    trusted: memory.reloadedMs >= before.sinceMs + deliveryMs,
    served: memory.reloadedMs >= before.sinceMs + deliveryMs,
    rotation: db.metadata.annotations?.[annotations.rotateAuthorities],
  });
  const labels = selectorLabels(database);
  const names = objectNames(database);
  await ctx.own.authority.apply(secrets.authority({ name: names.authority, labels }, authority));
  const current = secrets.readLeaf(ctx.own.certificate.get() ?? (await ctx.own.certificate.live()));
  const leaf = leafFor(
    issuerOf(authority),
    { commonName: "", names: namesOf(db), usages: ["server", "client"], lifetimeMs },
    current,
    nowMs,
  );
  const bundle = trustBundle(authority);
  await ctx.own.certificate.apply(secrets.leaf({ name: names.certificate, labels }, leaf, bundle));
  return {
    trust: { ca: bundle, serverName },
    fingerprint: new X509Certificate(leaf.certificate).fingerprint256,
    changedMs: authority.sinceMs,
  };
}

function namesOf(db: SampleDBObject): string[] {
  const database = databaseName(db);
  const { writes, reads, servers } = objectNames(database);
  const hosts = [writes, reads].flatMap((name) => [
    name,
    `${name}.${database.namespace}`,
    serviceHost(database, name),
    `${serviceHost(database, name)}.cluster.local`,
  ]);
  return [...hosts, `*.${serviceHost(database, servers)}`, "localhost", "127.0.0.1"];
}

/** Redis reads its certificates when it starts and when it is told: never by itself. */
export async function reloadCertificates(
  certificates: Certificates | undefined,
  ctx: SampleDBContext,
  { gathered, memory }: { readonly gathered: Gathered; readonly memory: DatabaseMemory },
): Promise<void> {
  if (!certificates) return;
  const nowMs = ctx.clock.now();
  const stale = nowMs - memory.reloadedMs >= againMs;
  const undelivered = memory.reloadedMs < certificates.changedMs + deliveryMs;
  let complete = true;
  for (const server of gathered.observed.servers) {
    const redis = gathered.answers.redis(server.name);
    if (!redis || !factsOf(server)) {
      complete = false;
      continue;
    }
    if (redis.fingerprint === certificates.fingerprint && !undelivered) continue;
    if (!stale) {
      ctx.recheck(againMs);
      return;
    }
    try {
      // One call, so that key and certificate change together.
      const files = { "tls-cert-file": "tls.crt", "tls-key-file": "tls.key", "tls-ca-cert-file": "ca.crt" };
      await redis.set(new Map(Object.entries(files).map(([name, file]) => [name, `${paths.tls}/${file}`])));
    } catch (error) {
      if (!(error instanceof RedisError)) throw error;
      complete = false;
    }
  }
  if (complete && stale) memory.reloadedMs = nowMs;
}
