/** Faults that only etcd has, done with its own API as with etcdctl. */
import type { JsonObject } from "@keelson/core";
import { atFraction } from "@keelson/testing";
import { unknownMember } from "../../operators/etcd/test/explore/scene.ts";
import type { Mechanisms } from "../explore/mechanism.ts";
import type { RealScene } from "../explore/real-scene.ts";
import { call, fill } from "./client.ts";
import type { World } from "./world.ts";

export interface Member {
  readonly id: string;
  /** Empty for one that never started. */
  readonly name: string;
  readonly learner: boolean;
}

const patienceMs = 5_000;

/** Asks members that serve until one answers. */
async function ask(scene: RealScene, path: string, body: JsonObject): Promise<JsonObject> {
  const world = scene.cluster as World;
  const connections = world.connections();
  let problem: unknown = new Error("no member serves");
  try {
    for (const endpoint of world.serving(scene.subject.ref.name, scene.namespace))
      try {
        return (await call(connections, endpoint, path, body, patienceMs)) as JsonObject;
      } catch (error) {
        problem = error;
      }
  } finally {
    connections.close();
  }
  throw problem;
}

export async function membersOf(scene: RealScene): Promise<readonly Member[]> {
  const { members = [] } = (await ask(scene, "/v3/cluster/member/list", {})) as {
    members?: { ID: string; name?: string; isLearner?: boolean }[];
  };
  return members.map(({ ID, name = "", isLearner = false }) => ({ id: ID, name, learner: isLearner }));
}

/** What a person does who is not answered: nothing, and that is told. */
async function tried(scene: RealScene, what: string, run: () => Promise<unknown>): Promise<boolean> {
  try {
    await run();
    return true;
  } catch (error) {
    scene.note(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
}

const remove = async (scene: RealScene, id: string) =>
  await tried(scene, "member remove", async () => await ask(scene, "/v3/cluster/member/remove", { ID: id }));

/** Removes a member that the operator did not add, as the status advises. */
export async function removeUnknown(scene: RealScene): Promise<string | undefined> {
  const advised = unknownMember(scene);
  if (advised === undefined || !(await remove(scene, BigInt(`0x${advised}`).toString()))) return undefined;
  return `removes ${advised} with etcdctl`;
}

const pieceBytes = 128 << 10;
/** More than a small quota. */
const mostPieces = 200;

/** Writes the same key until etcd has no space for its history any more. */
async function overwrite(scene: RealScene): Promise<void> {
  const world = scene.cluster as World;
  const connections = world.connections();
  try {
    for (let piece = 0; piece < mostPieces; piece++) {
      const [to] = world.serving(scene.subject.ref.name, scene.namespace);
      if (!to) throw new Error("no member serves");
      await fill(connections, to, "overwritten", pieceBytes);
    }
  } finally {
    connections.close();
  }
}

export const etcdMechanisms: Mechanisms = {
  "etcd: a voter is added by hand": {
    begin: async (scene) => {
      const body = { peerURLs: ["http://10.9.9.9:2380"] };
      let id = "";
      const added = await tried(scene, "member add", async () => {
        const { member } = (await ask(scene, "/v3/cluster/member/add", body)) as { member?: { ID: string } };
        id = member?.ID ?? "";
      });
      return added ? async () => void (await remove(scene, id)) : undefined;
    },
  },
  "etcd: a member is removed by hand": {
    begin: async (scene, { which }) => {
      await tried(scene, "member list", async () => {
        const voters = (await membersOf(scene)).filter(({ learner }) => !learner);
        const victim = atFraction(voters, which);
        if (!victim || voters.length < 3) return;
        scene.note(`it is ${victim.name}`);
        await remove(scene, victim.id);
      });
      return undefined;
    },
  },
  "etcd: out of space": {
    // Elsewhere there are two gigabytes to fill.
    can: (_, beginning) => beginning.endsWith("a small quota"),
    begin: async (scene) => {
      await tried(scene, "fill", async () => await overwrite(scene));
      return undefined;
    },
  },
  "etcd: the leader changes": {
    begin: async (scene, { which }) => {
      await tried(scene, "move leader", async () => {
        const target = atFraction(
          (await membersOf(scene)).filter(({ learner }) => !learner),
          which,
        );
        // Only the leader takes it: the others refuse, and the next one is asked.
        if (target) await ask(scene, "/v3/maintenance/transfer-leadership", { targetID: target.id });
      });
      return undefined;
    },
  },
};
