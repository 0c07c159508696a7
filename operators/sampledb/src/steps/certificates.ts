/** Certificates: made and renewed by the operator, or given; servers are told to read them again when they change. */
import { X509Certificate } from "node:crypto";
import {
  type Authority,
  CertificateSecrets,
  keepAuthority,
  keepLeaf,
  secretKeyPair,
  secretText,
  tlsSecretKeys,
  trustBundle,
} from "@keelson/kit";
import { Secret } from "keelson/kinds";
import { annotations } from "../api/names.ts";
import type { SampleDBObject } from "../api/sampledb.ts";
import { RedisError } from "../engine/errors.ts";
import type { Certificate, Certificates } from "../observe/certificates.ts";
import type { DatabaseMemory } from "../observe/memory.ts";
import type { Gathered } from "../observe/observe.ts";
import { factsOf } from "../observe/observed.ts";
import { tlsSecretOf } from "../observe/views.ts";
import type { SampleDBContext } from "../resources/declaration.ts";
import { databaseName, objectNames, selectorLabels, serviceHost, tlsSecretName } from "../resources/names.ts";
import { bindingType } from "../resources/secrets.ts";
import { paths } from "../resources/settings.ts";

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

export async function keepCertificates(
  db: SampleDBObject,
  ctx: SampleDBContext,
  memory: DatabaseMemory,
): Promise<Certificates> {
  const database = databaseName(db);
  const { certificate } = objectNames(database);
  const template = ctx.own.set.get()?.spec?.template?.spec;
  const names = new Set([
    tlsSecretName(database, db.spec),
    tlsSecretOf(template),
    ...ctx.read.pods.map(({ spec }) => tlsSecretOf(spec)),
  ]);
  const certificates = new Map<string, Certificate>();
  for (const name of names) {
    if (name === undefined) continue;
    const kept = name === certificate ? await managed(db, ctx, memory) : await given(db, ctx, name);
    if (kept) certificates.set(name, kept);
  }
  return certificates;
}

/**
 * A Secret that a person keeps. Servers present what it held before until they have read it again, and the binding says
 * whom clients trusted then; so the operator trusts both.
 */
async function given(
  db: SampleDBObject,
  ctx: SampleDBContext,
  name: string,
): Promise<Certificate | undefined> {
  const { namespace } = databaseName(db);
  const secret =
    name === db.spec.tls?.secretName
      ? ctx.read.givenTls
      : await ctx.client.kind(Secret).find({ namespace, name });
  const pair = secretKeyPair(secret);
  const binding = ctx.own.binding.get() ?? (await leftBinding(db, ctx));
  const bound = secretText(binding, tlsSecretKeys.authority);
  const authority = (pair && secretText(secret, tlsSecretKeys.authority)) ?? bound;
  if (authority === undefined) return undefined;
  const ca = unitedBundle(authority, bound ?? "");
  return {
    trust: { ca, serverName: nameOfServers(db) },
    authority,
    fingerprint: pair && fingerprintOf(pair.certificate),
    changedMs: Number.NEGATIVE_INFINITY,
  };
}

/** That of a database of the same name before this one, whose servers may run on (`--cascade=orphan`). */
async function leftBinding(db: SampleDBObject, ctx: SampleDBContext) {
  const { namespace, name } = databaseName(db);
  const found = await ctx.client.kind(Secret).find({ namespace, name: objectNames({ name }).binding });
  return found?.type === bindingType ? found : undefined;
}

/** Every certificate of both, once, those of the first one first. */
export function unitedBundle(...bundles: readonly string[]): string {
  const certificates = bundles.flatMap(
    (bundle) => bundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [],
  );
  return [...new Set(certificates)].map((each) => `${each}\n`).join("");
}

/** Undefined when it is not a certificate. */
function fingerprintOf(certificate: string): string | undefined {
  try {
    return new X509Certificate(certificate).fingerprint256;
  } catch {
    return undefined;
  }
}

function nameOfServers(db: SampleDBObject): string {
  const database = databaseName(db);
  return serviceHost(database, objectNames(database).writes);
}

/** Undefined only when it was never made, and `spec.paused` is set. */
async function managed(
  db: SampleDBObject,
  ctx: SampleDBContext,
  memory: DatabaseMemory,
): Promise<Certificate | undefined> {
  const database = databaseName(db);
  const { own } = ctx;
  const names = objectNames(database);
  const labels = selectorLabels(database);
  const common = { secrets, nowMs: ctx.clock.now(), paused: db.spec.paused };
  // Servers read whom they trust together with their certificate.
  const seenMs = ({ sinceMs }: Authority) => memory.phaseSeenMs(sinceMs, ctx.clock.monotonic());
  const isRead = (phase: Authority) => memory.reloadedMs >= seenMs(phase) + deliveryMs;
  const { authority } = await keepAuthority({
    ...common,
    slot: own.authority,
    identity: { name: names.authority, labels },
    commonName: `${database.name} authority`,
    issued: [own.certificate.get() ?? (await own.certificate.live())],
    trusted: isRead,
    served: isRead,
    overlapMs: deliveryMs,
    rotation: db.metadata.annotations?.[annotations.rotateAuthorities],
  });
  if (!authority) return undefined;
  const { leaf } = await keepLeaf({
    ...common,
    slot: own.certificate,
    identity: { name: names.certificate, labels },
    authority,
    spec: { commonName: "", names: namesOf(db), usages: ["server", "client"], lifetimeMs },
  });
  const bundle = trustBundle(authority);
  return {
    trust: { ca: bundle, serverName: nameOfServers(db) },
    authority: bundle,
    fingerprint: fingerprintOf(leaf.certificate),
    changedMs: seenMs(authority),
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
  certificates: Certificates,
  ctx: SampleDBContext,
  { gathered, memory }: { readonly gathered: Gathered; readonly memory: DatabaseMemory },
): Promise<void> {
  if (certificates.size === 0) return;
  const nowMs = ctx.clock.monotonic();
  const stale = nowMs - memory.reloadedMs >= againMs;
  let complete = true;
  for (const server of gathered.observed.servers) {
    const certificate = certificates.get(server.pod?.tls ?? "");
    if (server.pod && !certificate?.fingerprint) continue;
    const redis = gathered.answers.redis(server.name);
    if (!redis || !factsOf(server)) {
      complete = false;
      continue;
    }
    const undelivered = memory.reloadedMs < (certificate?.changedMs ?? Number.NEGATIVE_INFINITY) + deliveryMs;
    if (redis.fingerprint === certificate?.fingerprint && !undelivered) continue;
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

/** Whom clients must trust to reach all servers that have mounted a Secret, as they present themselves now. */
export function authorityFor(
  secret: string | undefined,
  certificates: Certificates,
  { observed, answers }: Gathered,
): string | undefined {
  const certificate = secret === undefined ? undefined : certificates.get(secret);
  if (!certificate) return undefined;
  const { authority, fingerprint, trust } = certificate;
  const isPresented = observed.servers.every(({ name }) => answers.redis(name)?.fingerprint === fingerprint);
  return isPresented ? authority : trust.ca;
}
