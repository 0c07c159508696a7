/** Volumes: created, annotated, grown, fenced, deleted. */
import type { ObjectOf } from "keelson";
import { PersistentVolumeClaim } from "keelson/kinds";
import { annotations } from "../api/names.ts";
import { refusedGrowth } from "../decide/refused-growth.ts";
import { statusOf } from "../decide/report.ts";
import { schemeOf } from "../engine/etcd.ts";
import { claimFor } from "../resources/claim.ts";
import { claimLabels, clusterName, memberKey } from "../resources/names.ts";
import type { DecisionTo, StepContext, StepResult } from "./step.ts";

export async function createClaim(
  { cluster, ctx, event }: StepContext,
  { member, message }: DecisionTo<"createClaim">,
): Promise<void> {
  const name = clusterName(cluster);
  const claim = claimFor({ cluster: name, member, storage: cluster.spec.storage });
  await ctx.own.claims.apply(memberKey(name, member), claim);
  event("Normal", "VolumeCreated", message);
}

export async function signClaim(step: StepContext, { member }: DecisionTo<"signClaim">): Promise<void> {
  await patch(step, member, { annotations: identityOf(step, member) });
}

export async function fenceClaim(
  step: StepContext,
  { member, message }: DecisionTo<"fenceClaim">,
): Promise<void> {
  await patch(step, member, { annotations: { [annotations.fenced]: "true" } });
  step.event("Warning", "VolumeFenced", message);
}

export async function repairClaim(
  { ctx, cluster, event }: StepContext,
  { member, message }: DecisionTo<"repairClaim">,
): Promise<void> {
  const name = clusterName(cluster);
  const body = { metadata: { labels: claimLabels(name, member) } };
  await ctx.client
    .kind(PersistentVolumeClaim)
    .patch({ namespace: name.namespace, name: member }, { type: "merge", body });
  event("Warning", "VolumeRepaired", message);
}

/** The storage class or a quota may not allow it: that is recorded, and the members stay as they are. */
export async function growClaim(step: StepContext, decision: DecisionTo<"growClaim">): Promise<StepResult> {
  const { ctx, event } = step;
  const { observed } = step.gathered;
  const { size } = step.cluster.spec.storage;
  try {
    await patch(step, decision.member, {}, { resources: { requests: { storage: size } } });
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (code !== 403 && code !== 422) throw error;
    const refused = refusedGrowth(observed, message);
    ctx.setStatus({ ...statusOf(observed, decision), refusedGrowth: refused });
    event("Warning", "VolumeCannotGrow", message);
    return { refused: message };
  }
  if (observed.status.refusedGrowth) {
    const { refusedGrowth: _, ...status } = statusOf(observed, decision);
    ctx.setStatus(status);
  }
  event("Normal", "VolumeGrows", decision.message);
  return "done";
}

/** Only the volume in the record, as the server has it now. */
export async function deleteClaim(
  step: StepContext,
  { member, message }: DecisionTo<"deleteClaim">,
): Promise<void> {
  const { ctx, cluster, event } = step;
  const key = memberKey(clusterName(cluster), member);
  const live = await ctx.own.claims.live(key);
  if (!live) return;
  await ctx.own.claims.delete(key, { resourceVersion: live.metadata.resourceVersion });
  event("Normal", "VolumeDeleted", message);
}

function identityOf({ gathered, cluster }: StepContext, member: string): Record<string, string> {
  const { status } = gathered.observed;
  const id = status.members?.find(({ name }) => name === member)?.id;
  const version = gathered.answers.statuses.get(member)?.version;
  const entry = gathered.observed.members.find(({ record }) => record.name === member)?.entry;
  const scheme = entry && schemeOf(entry);
  return {
    [annotations.clusterUid]: cluster.metadata.uid,
    ...(status.clusterId === undefined ? {} : { [annotations.clusterId]: status.clusterId }),
    ...(id === undefined ? {} : { [annotations.memberId]: id }),
    ...(scheme === undefined ? {} : { [annotations.peerScheme]: scheme }),
    ...(version === undefined ? {} : { [annotations.etcdVersion]: version }),
  };
}

/** Changes the very claim that was seen; another under its name is a conflict. */
async function patch(
  { ctx, cluster }: StepContext,
  member: string,
  metadata: { annotations?: Record<string, string> },
  spec?: NonNullable<ObjectOf<typeof PersistentVolumeClaim>["spec"]>,
): Promise<void> {
  const seen = ctx.own.claims.get(memberKey(clusterName(cluster), member));
  if (!seen) return;
  const { name, namespace, uid } = seen.metadata;
  const body = { metadata: { uid, ...metadata }, ...(spec && { spec }) };
  await ctx.client
    .kind(PersistentVolumeClaim)
    .patch({ namespace, name }, { type: "merge", body: body as never });
}
