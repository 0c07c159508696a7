/** Volumes: made, signed, grown, set aside, deleted. */
import type { ObjectOf } from "keelson";
import { PersistentVolumeClaim } from "keelson/kinds";
import { annotations } from "../api/names.ts";
import { statusOf } from "../decide/report.ts";
import { claimFor } from "../resources/claim.ts";
import { clusterName, memberKey } from "../resources/names.ts";
import type { Doing, Scene, StepResult } from "./step.ts";

export async function createClaim(
  { cluster, ctx, tell }: Scene,
  { member, message }: Doing<"createClaim">,
): Promise<void> {
  const name = clusterName(cluster);
  const claim = claimFor({ cluster: name, member, storage: cluster.spec.storage });
  await ctx.own.claims.apply(memberKey(name, member), claim);
  tell("Normal", "VolumeCreated", message);
}

export async function signClaim(scene: Scene, { member }: Doing<"signClaim">): Promise<void> {
  await patch(scene, member, { annotations: identityOf(scene, member) });
}

export async function fenceClaim(scene: Scene, { member, message }: Doing<"fenceClaim">): Promise<void> {
  await patch(scene, member, { annotations: { [annotations.fenced]: "true" } });
  scene.tell("Warning", "VolumeFenced", message);
}

/** Its storage class may not let it: that is remembered, and the members go on as they are. */
export async function growClaim(scene: Scene, decision: Doing<"growClaim">): Promise<StepResult> {
  const { ctx, gathered, tell } = scene;
  const { size } = scene.cluster.spec.storage;
  try {
    await patch(scene, decision.member, {}, { resources: { requests: { storage: size } } });
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (code !== 403 && code !== 422) throw error;
    const refusedGrowth = { size: String(size), message };
    ctx.setStatus({ ...statusOf(gathered.observed, decision), refusedGrowth });
    tell("Warning", "VolumeCannotGrow", message);
    return "refused";
  }
  tell("Normal", "VolumeGrows", decision.message);
  return "done";
}

/** Only the volume that the record speaks of, as the server has it now. */
export async function deleteClaim(scene: Scene, { member, message }: Doing<"deleteClaim">): Promise<void> {
  const { ctx, cluster, tell } = scene;
  const key = memberKey(clusterName(cluster), member);
  const live = await ctx.own.claims.live(key);
  if (!live) return;
  await ctx.own.claims.delete(key, { resourceVersion: live.metadata.resourceVersion });
  tell("Normal", "VolumeDeleted", message);
}

function identityOf({ gathered, cluster }: Scene, member: string): Record<string, string> {
  const { status } = gathered.observed;
  const id = status.members?.find(({ name }) => name === member)?.id;
  return {
    [annotations.clusterUid]: cluster.metadata.uid,
    ...(status.clusterId === undefined ? {} : { [annotations.clusterId]: status.clusterId }),
    ...(id === undefined ? {} : { [annotations.memberId]: id }),
  };
}

/** Changes the very claim that was seen; another under its name is a conflict. */
async function patch(
  { ctx, cluster }: Scene,
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
