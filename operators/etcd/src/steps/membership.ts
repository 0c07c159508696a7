/** Changes to who is a member. Each can be asked for twice without harm: the answer may have been lost. */
import { isEtcdError } from "../engine/errors.ts";
import type { MemberId } from "../engine/etcd.ts";
import { clusterName, peerUrl } from "../resources/names.ts";
import { attempt, type Doing, etcdOf, type Scene, type StepResult } from "./step.ts";

/** A learner's peer URL is its alone, so etcd itself refuses to add it twice. */
export async function addLearner(scene: Scene, { member, via }: Doing<"addLearner">): Promise<StepResult> {
  const url = peerUrl(clusterName(scene.cluster), member);
  return await attempt(scene, async (signal) => {
    try {
      const { added } = await etcdOf(scene, via).addLearner([url], { signal });
      scene.tell("Normal", "MemberAdded", `${member} is a learner (${hexOf(added.id)})`);
    } catch (error) {
      if (!isEtcdError(error, "PeerUrlExists")) throw error;
    }
  });
}

export async function promote(scene: Scene, { member, id, via }: Doing<"promote">): Promise<StepResult> {
  return await attempt(scene, async (signal) => {
    await etcdOf(scene, via).promote(id, { signal });
    scene.tell("Normal", "MemberPromoted", `${member} votes`);
  });
}

export async function removeMember(scene: Scene, decision: Doing<"removeMember">): Promise<StepResult> {
  const { id, via, message } = decision;
  return await attempt(scene, async (signal) => {
    await etcdOf(scene, via).remove(id, { signal });
    scene.tell("Normal", "MemberRemoved", message);
  });
}

export async function moveLeader(scene: Scene, decision: Doing<"moveLeader">): Promise<StepResult> {
  const { from, toId, message } = decision;
  return await attempt(scene, async (signal) => {
    await etcdOf(scene, from).moveLeader(toId, { signal });
    scene.tell("Normal", "LeaderMoved", message);
  });
}

function hexOf(id: MemberId): string {
  return BigInt(id).toString(16);
}
