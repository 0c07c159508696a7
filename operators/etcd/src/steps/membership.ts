/** Changes to who is a member. Each can be asked for twice without harm: the answer may have been lost. */

import { EtcdError, isEtcdError } from "../engine/errors.ts";
import type { Etcd, MemberId } from "../engine/etcd.ts";
import { clusterName, peerUrl } from "../resources/names.ts";
import type { Doing, Scene } from "./act.ts";

/** A learner's peer URL is its alone, so etcd itself refuses to add it twice. */
export async function addLearner(scene: Scene, { member, via }: Doing<"addLearner">): Promise<void> {
  const url = peerUrl(clusterName(scene.cluster), member);
  try {
    const { added } = await etcdOf(scene, via).addLearner([url], { signal: scene.ctx.signal });
    scene.ctx.event("Normal", "MemberAdded", `${member} is a learner (${hexOf(added.id)})`);
  } catch (error) {
    if (isEtcdError(error, "PeerUrlExists")) return;
    passing(scene, error, "UnhealthyCluster", "TooManyLearners", "Unreachable", "NoLeader");
  }
}

export async function promote(scene: Scene, { member, id, via }: Doing<"promote">): Promise<void> {
  try {
    await etcdOf(scene, via).promote(id, { signal: scene.ctx.signal });
    scene.ctx.event("Normal", "MemberPromoted", `${member} votes`);
  } catch (error) {
    passing(
      scene,
      error,
      "LearnerNotReady",
      "UnhealthyCluster",
      "Unreachable",
      "NoLeader",
      "MemberNotFound",
      "NotLeader",
    );
  }
}

export async function removeMember(scene: Scene, { id, via, message }: Doing<"removeMember">): Promise<void> {
  try {
    await etcdOf(scene, via).remove(id, { signal: scene.ctx.signal });
    scene.ctx.event("Normal", "MemberRemoved", message);
  } catch (error) {
    passing(scene, error, "UnhealthyCluster", "Unreachable", "NoLeader");
  }
}

export async function moveLeader(scene: Scene, { from, toId, message }: Doing<"moveLeader">): Promise<void> {
  try {
    await etcdOf(scene, from).moveLeader(toId, { signal: scene.ctx.signal });
    scene.ctx.event("Normal", "LeaderMoved", message);
  } catch (error) {
    passing(scene, error, "NotLeader", "NoLeader", "Unreachable", "Refused");
  }
}

/** The client of a member that answered in this pass. */
export function etcdOf({ gathered }: Scene, member: string): Etcd {
  const etcd = gathered.answers.etcd(member);
  if (etcd) return etcd;
  throw new EtcdError("Unreachable", `${member} did not answer in this pass`);
}

/** What passes by itself is met again by the next pass, which looks at the state and not at the answer. */
function passing(scene: Scene, error: unknown, ...codes: Parameters<typeof isEtcdError>[1][]): void {
  if (!isEtcdError(error, ...codes)) throw error;
  scene.ctx.log.info("etcd does not do it now", { code: error.code, message: error.message });
}

function hexOf(id: MemberId): string {
  return BigInt(id).toString(16);
}
