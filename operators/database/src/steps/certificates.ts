/** Certificates of the servers: made and renewed by the operator, or given. Agents bring them to PostgreSQL by themselves. */
import { hash } from "node:crypto";
import {
  type Authority,
  CertificateSecrets,
  keepAuthority,
  keepLeaf,
  type SecretSlot,
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
  const labels = selectorLabels(database);
  const common = { secrets, nowMs: ctx.clock.now() };
  const tls = slotOf(ctx, "tls");
  // PostgreSQL is given whom it trusts together with its certificate.
  const isEverywhere = (authority: Authority) => isGiven(before, hash("sha256", trustBundle(authority)));
  const { authority } = await keepAuthority({
    ...common,
    slot: slotOf(ctx, "authority"),
    identity: { name: authoritySecret(database), labels },
    commonName: `${database.name} authority`,
    issued: [tls.get() ?? (await tls.live())],
    trusted: isEverywhere,
    served: isEverywhere,
    overlapMs,
    rotation: object.metadata.annotations?.[annotations.rotateAuthority],
  });
  if (!authority) throw new Error("there is no authority, though nothing kept it from being made");
  await keepLeaf({
    ...common,
    slot: tls,
    identity: { name: tlsSecret(database), labels },
    authority,
    spec: { commonName: "", names: namesOf(object), usages: ["server", "client"], lifetimeMs },
  });
  return { bundle: trustBundle(authority) };
}

function slotOf({ own }: DatabaseContext, key: string): SecretSlot {
  return {
    get: () => own.secrets.get(key),
    live: async () => await own.secrets.live(key),
    apply: async (secret) => await own.secrets.apply(key, secret),
  };
}

/** Every instance has told that its PostgreSQL trusts exactly these. */
function isGiven(observed: Observed | undefined, trust: string): boolean {
  const instances = observed?.instances ?? [];
  return instances.length > 0 && instances.every(({ report }) => report?.trust === trust);
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
