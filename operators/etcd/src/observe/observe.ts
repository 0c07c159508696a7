/** Gathers objects from the cache and answers from the members, and updates the records from both. */
import { ownStatus } from "@keelson/kit";
import type { ObjectOf } from "keelson";
import { PersistentVolumeClaim } from "keelson/kinds";
import type { EtcdClusterObject, Member, Status } from "../api/cluster.ts";
import { conditions } from "../api/conditions.ts";
import { annotations } from "../api/names.ts";
import { type EtcdMember, hex } from "../engine/etcd.ts";
import { operatorImage } from "../resources/agent-image.ts";
import type { EtcdContext } from "../resources/declaration.ts";
import {
  type ClusterName,
  claimLabels,
  clientPort,
  clusterName,
  memberHost,
  memberLabels,
  metricsPort,
  ordinalOf,
} from "../resources/names.ts";
import { ownersOf } from "../resources/owners.ts";
import { formedClusterId } from "../resources/services.ts";
import { type Answers, ask, type Dial, type Passwords } from "./ask.ts";
import { claimView } from "./claim-view.ts";
import { largestNode, type NodeView, nodeLostSince, nodeViews } from "./nodes.ts";
import type { ClaimView, Observed, ObservedMember, PodView } from "./observed.ts";
import { readPasswords, type Sessions } from "./passwords.ts";
import { podView, trialView } from "./pod-view.ts";
import { entryOf, nextOrdinal, refreshRecords, rememberedClusterId } from "./records.ts";
import { restorePlan } from "./restore-plan.ts";
import { parseTime } from "./time.ts";
import type { Certificates } from "./tls-facts.ts";

export interface Gathered extends AsyncDisposable {
  readonly observed: Observed;
  readonly answers: Answers;
  readonly passwords: Passwords | undefined;
}

/** How members are reached. */
export interface Access {
  readonly dial: Dial;
  readonly certificates: Certificates;
  readonly sessions: Sessions;
}

export async function observe(
  object: EtcdClusterObject,
  ctx: EtcdContext,
  { dial, certificates, sessions }: Access,
): Promise<Gathered> {
  const cluster = clusterName(object);
  const { passwords, problem } = await readPasswords(object, ctx, sessions);
  const before: Status = object.status ?? {};
  const owners = ownersOf(object, ctx).map(({ uid }) => uid);
  const pods = byMember(cluster, ctx.own.pods.list(), (pod) =>
    podView(pod, { labels: memberLabels(cluster, pod.metadata.name), owners }),
  );
  const claims = byMember(cluster, ctx.own.claims.list(), (claim) => viewOf(cluster, claim));
  if (before.clusterId === undefined) await addKeptClaims(claims, cluster, ctx);
  for (const record of before.members ?? []) await confirmClaim(record, { cluster, ctx, claims });
  const answers = await ask(
    [...pods]
      .filter(([, pod]) => !pod.ended)
      .map(([name]) => ({
        name,
        connect: async () => await ctx.connect({ pod: { namespace: cluster.namespace, name } }, clientPort),
        ...(before.clusterId === undefined
          ? {}
          : {
              connectMetrics: async () =>
                await ctx.connect({ pod: { namespace: cluster.namespace, name } }, metricsPort),
            }),
        ...(certificates.material
          ? { tls: { ...certificates.material, serverName: memberHost(cluster, name) } }
          : {}),
      })),
    { dial, signal: ctx.signal, readThrough: before.rollout !== undefined, passwords },
  );
  const earlierVolumes = earlierVolumesOf(object, claims);
  const clusterId =
    before.clusterId ??
    (earlierVolumes.length === 0 ? rememberedClusterId(claims) : undefined) ??
    formedClusterId(cluster, ctx.own.peers.get());
  // The list of another cluster says nothing about this one.
  const list =
    answers.list && (clusterId === undefined || hex(answers.list.clusterId) === clusterId)
      ? answers.list
      : undefined;
  const records = refreshRecords({
    cluster,
    records: before.members ?? [],
    claims: earlierVolumes.length === 0 ? claims : new Map(),
    list: clusterId === undefined ? undefined : list,
    templates: [before.template, before.rollout].flatMap((each) => (each ? [each.hash] : [])),
  });
  const names = [...records.map(({ name }) => name), ...pods.keys(), ...claims.keys()];
  const status: Status = {
    ...ownStatus(object),
    ...(clusterId === undefined ? {} : { clusterId }),
    members: records,
    nextMember: nextOrdinal(cluster, before.nextMember, names),
  };
  const nodes = nodeViews(ctx.read.nodes);
  const observed: Observed = {
    nowMs: ctx.clock.now(),
    cluster,
    spec: object.spec,
    status,
    members: records.map((record) => memberOf(record, { pods, claims, nodes, answers, list, cluster })),
    unknownMembers: (list ?? localListOf(answers, clusterId)).members.filter(
      ({ id }) => !records.some((record) => record.id === hex(id)),
    ),
    spareClaims: [...claims].flatMap(([name, { deleting }]) =>
      deleting || records.some((record) => record.name === name) ? [] : [name],
    ),
    list,
    alarms: answers.alarms,
    clusterVersion: answers.clusterVersion,
    unavailableSinceMs: unavailableSince(object, ctx.clock),
    restore:
      clusterId === undefined ? restorePlan(object.spec, ctx.read.restoreFrom, operatorImage()) : undefined,
    earlierVolumes,
    trials: ctx.own.trials.list().map(trialView),
    largestNode: largestNode(ctx.read.nodes),
    certificates,
    authentication: answers.authentication,
    secretProblem: certificates.problem ?? problem,
    approved: object.metadata.annotations?.[annotations.approveRecovery],
    defragmentationDue: defragmentationDue(object, ctx),
  };
  return {
    observed,
    answers,
    passwords,
    [Symbol.asyncDispose]: async () => await answers[Symbol.asyncDispose](),
  };
}

/** By the objects' own names: labels can be changed, and names cannot. */
function byMember<T extends { readonly metadata: { readonly name: string } }, View>(
  cluster: ClusterName,
  objects: readonly T[],
  view: (object: T) => View,
): Map<string, View> {
  return new Map(
    objects
      .filter(({ metadata }) => ordinalOf(cluster, metadata.name) !== undefined)
      .map((object) => [object.metadata.name, view(object)]),
  );
}

/** What single members say, while no quorum says more. */
function localListOf(
  { localList, progress }: Answers,
  clusterId: string | undefined,
): { readonly members: readonly EtcdMember[] } {
  if (localList) return hex(localList.clusterId) === clusterId ? localList : { members: [] };
  const peers = new Set([...progress.values()].flatMap((each) => each.peers));
  return {
    members: [...peers].map((id) => ({ id, name: "", peerUrls: [], clientUrls: [], learner: false })),
  };
}

function viewOf(cluster: ClusterName, claim: ObjectOf<typeof PersistentVolumeClaim>): ClaimView {
  return claimView(claim, claimLabels(cluster, claim.metadata.name));
}

/**
 * Where the status knows of no cluster, only claims do. One that lacks a label is not seen among them: its member would
 * be taken for lost, or a new cluster would start over its data. So all claims of the namespace are looked at.
 */
async function addKeptClaims(
  claims: Map<string, ClaimView>,
  cluster: ClusterName,
  ctx: EtcdContext,
): Promise<void> {
  const { items } = await ctx.client.kind(PersistentVolumeClaim).list({ namespace: cluster.namespace });
  for (const [name, view] of byMember(cluster, items, (claim) => viewOf(cluster, claim)))
    if (!claims.has(name) && view.memberId !== undefined) claims.set(name, view);
}

/** A claim that looks gone may only lack its labels: what follows from its absence is decided by the server's word. */
async function confirmClaim(
  record: Member,
  {
    cluster,
    ctx,
    claims,
  }: {
    readonly cluster: ClusterName;
    readonly ctx: EtcdContext;
    readonly claims: Map<string, ClaimView>;
  },
): Promise<void> {
  if (record.id === undefined || claims.has(record.name)) return;
  const ref = { namespace: cluster.namespace, name: record.name };
  const live = await ctx.client.kind(PersistentVolumeClaim).find(ref);
  if (!live) return;
  const view = viewOf(cluster, live);
  if (view.uid === record.claimUid || view.memberId === record.id) claims.set(record.name, view);
}

/** Volumes of an earlier cluster of this name, where the spec asks for a backup instead. */
function earlierVolumesOf(
  { spec, status, metadata }: EtcdClusterObject,
  claims: ReadonlyMap<string, ClaimView>,
): readonly string[] {
  if (!spec.restoreFrom || status?.clusterId !== undefined) return [];
  const earlier = [...claims].filter(
    ([, claim]) =>
      claim.clusterId !== undefined && claim.clusterUid !== metadata.uid && !claim.fenced && !claim.deleting,
  );
  return earlier.map(([name]) => name);
}

function memberOf(
  record: Member,
  from: {
    readonly pods: ReadonlyMap<string, PodView>;
    readonly claims: ReadonlyMap<string, ClaimView>;
    readonly nodes: ReadonlyMap<string, NodeView>;
    readonly answers: Answers;
    readonly list: Observed["list"];
    readonly cluster: Observed["cluster"];
  },
): ObservedMember {
  const pod = from.pods.get(record.name);
  const claim = from.claims.get(record.name);
  const node = pod?.node === undefined ? undefined : from.nodes.get(pod.node);
  return {
    record,
    pod,
    claim,
    entry: entryOf(from.cluster, record, from.list),
    status: from.answers.statuses.get(record.name),
    progress: from.answers.progress.get(record.name),
    readThrough: from.answers.reads.get(record.name),
    nodeLostSinceMs: nodeLostSince(from.nodes, { pod, claim }),
    nodeCordoned: node?.cordoned === true,
  };
}

/** When a clock that was set back since had not yet come to a transition: by object, as this process has seen it. */
const ahead = new Map<string, { readonly at: string; readonly monotonicMs: number }>();

function unavailableSince(
  { metadata, status }: EtcdClusterObject,
  clock: EtcdContext["clock"],
): number | undefined {
  const available = status?.conditions?.find(({ type }) => type === conditions.available);
  const at = available?.status === "True" ? undefined : available?.lastTransitionTime;
  const sinceMs = at === undefined ? undefined : parseTime(at);
  if (at === undefined || sinceMs === undefined || sinceMs <= clock.now()) {
    ahead.delete(metadata.uid);
    return sinceMs;
  }
  const known = ahead.get(metadata.uid);
  const seen = known?.at === at ? known : { at, monotonicMs: clock.monotonic() };
  ahead.set(metadata.uid, seen);
  return clock.now() - (clock.monotonic() - seen.monotonicMs);
}

function defragmentationDue(object: EtcdClusterObject, ctx: EtcdContext): string | undefined {
  const { defragmentation } = object.spec;
  if (!defragmentation) return undefined;
  const since = new Date(object.status?.lastDefragmentation ?? object.metadata.creationTimestamp);
  const { schedule, timeZone } = defragmentation;
  return ctx.cron(schedule, { since, timeZone }).due?.toISOString();
}
