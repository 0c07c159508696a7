/** Maintains the certificates of a cluster: authorities, members' certificates, and the one for clients. */
import { X509Certificate } from "node:crypto";
import {
  type Authority,
  CertificateSecrets,
  expiryOf,
  issuerOf,
  keepAuthority,
  keepLeaf,
  type Leaf,
  type LeafSpec,
  type SecretSlot,
  secretKeyPair,
  secretText,
  trustBundle,
  trustDigest,
} from "@keelson/kit";
import { Secret } from "keelson/kinds";
import type { EtcdClusterObject } from "../api/cluster.ts";
import { annotations } from "../api/names.ts";
import type { TlsMaterial } from "../engine/etcd.ts";
import type { Presented } from "../observe/served.ts";
import type { Certificates, TlsFacts } from "../observe/tls-facts.ts";
import {
  authorityName,
  clientSecretName,
  memberSecretKey,
  memberSecretName,
  namesFor,
  type TlsSpec,
  type TlsUse,
} from "../resources/certificate-names.ts";
import type { EtcdContext } from "../resources/declaration.ts";
import { type ClusterName, clusterName, memberName, ordinalOf, selectorLabels } from "../resources/names.ts";

const hourMs = 3_600_000;

const secrets = new CertificateSecrets({
  since: annotations.since,
  rotation: annotations.rotateAuthorities,
  seal: annotations.seal,
});

interface Scope {
  readonly cluster: ClusterName;
  readonly object: EtcdClusterObject;
  readonly ctx: EtcdContext;
  readonly presented: Presented;
}

export async function maintainCertificates(
  object: EtcdClusterObject,
  ctx: EtcdContext,
  presented: Presented,
): Promise<Certificates> {
  const scope: Scope = { cluster: clusterName(object), object, ctx, presented };
  const { tls } = object.spec;
  const out: { -readonly [K in keyof Certificates]: Certificates[K] } = {};
  for (const use of ["peer", "client"] as const) {
    const spec = tls?.[use];
    if (!spec) continue;
    const result = spec.mode === "Secret" ? await given(scope, use, spec) : await managed(scope, use, spec);
    if ("problem" in result) return { ...out, problem: result.problem };
    out[use] = result.facts;
    if (result.material) out.material = result.material;
  }
  if (!object.spec.paused) await dropLeftovers(scope, out);
  return out;
}

type Maintained =
  | { readonly facts: TlsFacts; readonly material?: TlsMaterial }
  | { readonly problem: string };

/** A Secret that the user provides for all members, and also renews. */
async function given({ object, ctx }: Scope, use: TlsUse, spec: TlsSpec): Promise<Maintained> {
  const name = spec.secretName ?? "";
  const namespace = object.metadata.namespace ?? "default";
  const secret = await ctx.client.kind(Secret).find({ namespace, name });
  const ca = secretText(secret, "ca.crt");
  const pair = secretKeyPair(secret);
  if (!secret) return { problem: `spec.tls.${use} names the Secret ${name}, which does not exist` };
  if (ca === undefined || !pair)
    return { problem: `the Secret ${name} of spec.tls.${use} needs ca.crt, tls.crt and tls.key` };
  const expiresMs = readable(pair.certificate);
  if (expiresMs === undefined) return { problem: `tls.crt of the Secret ${name} is not a certificate` };
  if (use === "client" && object.spec.auth && /^CN=/m.test(new X509Certificate(pair.certificate).subject)) {
    return {
      problem: `tls.crt of the Secret ${name} has a common name, with which etcd's gateway refuses every client once authentication is on; issue it without one`,
    };
  }
  return {
    facts: { secret: name, trust: trustDigest(ca), phase: "Given", expiresMs },
    ...(use === "client" ? { material: { ca, cert: pair.certificate, key: pair.key } } : {}),
  };
}

async function managed(scope: Scope, use: TlsUse, spec: TlsSpec): Promise<Maintained> {
  const { cluster, object, ctx } = scope;
  const name = authorityName(cluster.name, use);
  const issuer = spec.issuerSecret === undefined ? undefined : await issuerPair(scope, use, spec);
  if (issuer && "problem" in issuer) return issuer;
  const { before, authority } = await keepAuthority({
    ...common(scope),
    slot: slotOf(ctx, `${use}-ca`),
    identity: { name, labels: selectorLabels(cluster) },
    commonName: name,
    issued: [...issuedOf(scope, use).values()],
    trusted: (found) => isTrusted(scope, use, found),
    served: async (found) => await isPresented(scope, use, found, spec),
    overlapMs: use === "client" ? spec.overlapHours * hourMs : 0,
    rotation: object.metadata.annotations?.[annotations.rotateAuthorities],
    given: issuer?.pair,
  });
  if (!authority) return { problem: `${name} is made when spec.paused is false again` };
  reportChange(ctx, use, before, authority);
  const bundle = trustBundle(authority);
  const holders = use === "peer" ? holdersOf(scope, authority) : undefined;
  const leaves = await maintainLeaves(scope, use, spec, authority, holders);
  return {
    facts: {
      ...(holders && { holders }),
      trust: trustDigest(bundle),
      phase: authority.next ? "Widening" : authority.previous === undefined ? "Current" : "Overlapping",
      expiresMs: Math.min(
        ...[issuerOf(authority), ...leaves].map(({ certificate }) => expiryOf(certificate)),
      ),
    },
    ...(use === "client" && leaves[0]
      ? { material: { ca: bundle, cert: leaves[0].certificate, key: leaves[0].key } }
      : {}),
  };
}

function common({ object, ctx }: Scope) {
  return { secrets, nowMs: ctx.clock.now(), paused: object.spec.paused };
}

function slotOf({ own }: EtcdContext, key: string): SecretSlot {
  return {
    get: () => own.secrets.get(key),
    live: async () => await own.secrets.live(key),
    apply: async (secret) => await own.secrets.apply(key, secret),
  };
}

/** Secrets of members by name, in the status or not: that of a cluster that was made again is empty at first. */
function issuedOf({ cluster, ctx }: Scope, use: TlsUse) {
  const prefix = memberSecretKey(cluster, memberName(cluster, 0), use).slice(0, -1);
  return new Map(
    [...ctx.own.secrets.entries()].flatMap(([key, secret]) => {
      const member = `${cluster.name}-${key.slice(prefix.length)}`;
      return key.startsWith(prefix) && ordinalOf(cluster, member) !== undefined ? [[member, secret]] : [];
    }),
  );
}

/** See {@link TlsFacts.holders}. What the next authority has issued counts for nothing: nobody who runs trusts it yet. */
function holdersOf(scope: Scope, { current, next }: Authority): readonly string[] | undefined {
  if (current.key !== "" || !next) return undefined;
  const { publicKey } = new X509Certificate(next.certificate);
  return [...issuedOf(scope, "peer")].flatMap(([member, secret]) => {
    const pair = secretKeyPair(secret);
    return pair && !new X509Certificate(pair.certificate).verify(publicKey) ? [member] : [];
  });
}

/** The certificate for clients first, then those of the members. */
async function maintainLeaves(
  scope: Scope,
  use: TlsUse,
  spec: TlsSpec,
  authority: Authority,
  holders: readonly string[] | undefined,
) {
  const { cluster, object, ctx } = scope;
  const maintain = async (key: string, name: string, wanted: LeafSpec) => {
    const { leaf, isNew } = await keepLeaf({
      ...common(scope),
      slot: slotOf(ctx, key),
      identity: { name, labels: selectorLabels(cluster) },
      authority,
      spec: wanted,
    });
    if (isNew && !object.spec.paused)
      ctx.event("Normal", "CertificateIssued", `${name} holds a new certificate`);
    return leaf;
  };
  const leaves: Leaf[] = [];
  const lifetimeMs = spec.lifetimeHours * hourMs;
  if (use === "client") {
    const name = clientSecretName(cluster.name, spec);
    // No common name: with authentication on, the gateway of etcd refuses certificates that have one.
    const wanted: LeafSpec = {
      commonName: "",
      organization: `${cluster.name}-client`,
      names: [],
      usages: ["client"],
      lifetimeMs,
    };
    leaves.push(await maintain("client", name, wanted));
  }
  for (const { name: member, phase } of object.status?.members ?? []) {
    // It does not start with a certificate that the others would not trust, nor read one while it serves.
    const isNew = phase === "Joining" || phase === "Learner";
    if (holders?.includes(member) === false && (isNew || serves(ctx, member))) continue;
    leaves.push(
      await maintain(memberSecretKey(cluster, member, use), memberSecretName(member, use, undefined), {
        commonName: member,
        names: namesFor(cluster, member, use, spec.names),
        // Each peer is a client of the others, and a member's gateway a client of the member itself.
        usages: ["server", "client"],
        lifetimeMs,
      }),
    );
  }
  return leaves;
}

function serves({ own }: EtcdContext, member: string): boolean {
  const pod = own.pods.list().find(({ metadata }) => metadata.name === member);
  if (!pod || pod.metadata.deletionTimestamp !== undefined) return false;
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

/**
 * Every member was made from a template with this very trust, and no other is under way. The pods themselves say it: a
 * status that was lost is made again from the spec, before any member has followed.
 */
function isTrusted({ object, ctx }: Scope, use: TlsUse, authority: Authority): boolean {
  const { template, rollout } = object.status ?? {};
  if (!template || rollout) return false;
  const tls = template.recipe.tls as Partial<Record<TlsUse, { trust?: string }>> | undefined;
  return (
    tls?.[use]?.trust === trustDigest(trustBundle(authority)) &&
    ctx.own.pods
      .list()
      .every(({ metadata }) => metadata.annotations?.[annotations.template] === template.hash)
  );
}

/** Asked of the members themselves, and only when the answer matters: a Secret reaches a running pod with a delay. */
async function isPresented(
  { cluster, object, ctx, presented }: Scope,
  use: TlsUse,
  authority: Authority,
  spec: TlsSpec,
): Promise<boolean> {
  const overlapMs = use === "client" ? spec.overlapHours * hourMs : 0;
  if (authority.previous === undefined || ctx.clock.now() - authority.sinceMs < overlapMs) return false;
  const expected = new Map<string, string>();
  for (const { name } of object.status?.members ?? []) {
    const leaf = secrets.readLeaf(ctx.own.secrets.get(memberSecretKey(cluster, name, use)));
    if (!leaf?.certificate) return false;
    expected.set(name, leaf.certificate);
  }
  return await presented(use, expected, ctx);
}

async function issuerPair(
  { object, ctx }: Scope,
  use: TlsUse,
  { issuerSecret: name = "" }: TlsSpec,
): Promise<{ readonly pair: Authority["current"] } | { readonly problem: string }> {
  const namespace = object.metadata.namespace ?? "default";
  const secret = await ctx.client.kind(Secret).find({ namespace, name });
  const pair = secretKeyPair(secret);
  if (pair && readable(pair.certificate) !== undefined) return { pair };
  const problem = secret ? "needs the tls.crt and tls.key of an authority" : "does not exist";
  return { problem: `the Secret ${name}, the issuer of spec.tls.${use}, ${problem}` };
}

function reportChange(ctx: EtcdContext, use: TlsUse, before: Authority | undefined, after: Authority): void {
  if (before === after) return;
  const who = use === "peer" ? "peers" : "clients";
  const change = !before
    ? `the authority for ${who} was created`
    : after.next
      ? `a new authority for ${who} will be trusted beside the old one`
      : after.previous !== undefined
        ? `certificates for ${who} are issued by the new authority`
        : `the old authority for ${who} is no longer trusted`;
  ctx.event("Normal", "AuthorityChanged", change);
}

/** Secrets of members that have left. */
async function dropLeftovers({ cluster, object, ctx }: Scope, { peer }: Certificates): Promise<void> {
  const members = object.status?.members ?? [];
  const wanted = new Set([
    ...(["peer", "client"] as const).flatMap((use) =>
      object.spec.tls?.[use]?.mode === "Managed"
        ? [`${use}-ca`, ...members.map(({ name }) => memberSecretKey(cluster, name, use))]
        : [],
    ),
    "client",
    ...(peer?.holders ?? []).map((name) => memberSecretKey(cluster, name, "peer")),
  ]);
  for (const key of ctx.own.secrets.entries().keys()) {
    if (!wanted.has(key)) await ctx.own.secrets.delete(key);
  }
}

function readable(certificate: string): number | undefined {
  try {
    return expiryOf(certificate);
  } catch {
    return undefined;
  }
}
