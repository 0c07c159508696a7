/** EtcdCluster on paper: members one by one, learners, upgrades. Gather, decide, act. */
import type { ObjectOf } from "@keelson/core";
import { type Context, controller, done, fail, many, type Outcome, waiting } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { z } from "zod";
import { PersistentVolumeClaim, Pod, PodDisruptionBudget, Service } from "./kinds.ts";

const member = z.object({
  name: z.string(),
  id: z.string().optional(), // a uint64 in hex; empty until MemberAdd has answered
  phase: z.enum(["Joining", "Learner", "Voter", "Leaving"]),
  version: z.string(),
});

export const EtcdCluster = resource({
  group: "etcd.keelson.dev",
  kind: "EtcdCluster",
  version: "v1",
  shortNames: ["etcd"],
  spec: z.object({ size: z.int().min(1).max(9).default(3), version: z.string() }),
  status: z.object({
    clusterId: z.string().optional(), // set once at bootstrap, compared ever after
    members: z.array(member).optional(),
    readyMembers: z.int().optional(),
    leader: z.string().optional(),
  }),
  scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.readyMembers" },
  columns: {
    Size: ".spec.size",
    Members: ".status.readyMembers",
    Version: ".spec.version",
    Leader: ".status.leader",
  },
});

type Cluster = ObjectOf<typeof EtcdCluster>;
type Member = z.output<typeof member>;
/** What one pass sees: objects from the cache, members from etcd itself, each asked directly. */
interface Observed {
  readonly members: readonly (Member & {
    pod?: object;
    claim?: object;
    healthy: boolean;
    leader: boolean;
    lag: number;
  })[];
  readonly quorum: boolean;
  readonly alarms: readonly string[];
}
/** One change at a time; everything else is waiting. */
type Decision =
  | { do: "bootstrap"; seed: Member }
  | { do: "recreatePod"; member: Member; because: string }
  | { do: "addLearner"; member: Member }
  | { do: "promote"; member: Member }
  | { do: "moveLeader"; to: Member }
  | { do: "remove"; member: Member; because: string }
  | { do: "restart"; member: Member; version: string }
  | { do: "wait"; reason: string; message: string }
  | { do: "refuse"; reason: string; message: string }
  | { do: "nothing" };

declare function observe(cluster: Cluster, ctx: EtcdContext): Promise<Observed>;
declare function decide(cluster: Cluster, observed: Observed): Decision;
declare function statusOf(cluster: Cluster, observed: Observed): { readyMembers: number; members: Member[] };
declare const objects: {
  peers(cluster: Cluster): object;
  clients(cluster: Cluster): object;
  claim(cluster: Cluster, member: Member): object;
  pod(cluster: Cluster, member: Member, join: "new" | "existing", initialCluster: string): object;
};
declare const engine: {
  addLearner(observed: Observed, member: Member): Promise<{ id: string; initialCluster: string }>;
  findByPeerUrl(
    observed: Observed,
    member: Member,
  ): Promise<{ id: string; initialCluster: string } | undefined>;
  promote(observed: Observed, member: Member): Promise<void>;
  moveLeader(observed: Observed, to: Member): Promise<void>;
  remove(observed: Observed, member: Member): Promise<void>;
};

const owns = {
  peers: Service,
  clients: Service,
  budget: PodDisruptionBudget,
  claims: many(PersistentVolumeClaim, { outlives: true }),
  pods: many(Pod),
};
type EtcdContext = Context<typeof EtcdCluster, typeof owns>;

export const etcd = controller(EtcdCluster, {
  owns,

  async reconcile(cluster, ctx) {
    await ctx.own.peers.apply(objects.peers(cluster));
    await ctx.own.clients.apply(objects.clients(cluster));

    const observed = await observe(cluster, ctx);
    ctx.setStatus(statusOf(cluster, observed));
    await ctx.own.budget.apply({ spec: { minAvailable: Math.floor(observed.members.length / 2) + 1 } });
    return act(cluster, observed, decide(cluster, observed), ctx);
  },
});

async function act(
  cluster: Cluster,
  observed: Observed,
  decision: Decision,
  ctx: EtcdContext,
): Promise<Outcome> {
  switch (decision.do) {
    case "bootstrap": {
      const { seed } = decision;
      await ctx.own.claims.apply(seed.name, objects.claim(cluster, seed));
      await ctx.own.pods.apply(seed.name, objects.pod(cluster, seed, "new", seed.name));
      return waiting("Bootstrapping", `the first member ${seed.name} is starting`);
    }
    case "addLearner": {
      const { member } = decision;
      await ctx.own.claims.apply(member.name, objects.claim(cluster, member));
      // The answer may be lost after etcd has committed: look for our peer URL before adding again.
      const joined = await ctx.step(`add/${member.name}`, async ({ resumed }) => {
        const before = resumed ? await engine.findByPeerUrl(observed, member) : undefined;
        return before ?? (await engine.addLearner(observed, member));
      });
      await ctx.own.pods.apply(member.name, objects.pod(cluster, member, "existing", joined.initialCluster));
      ctx.event("Normal", "MemberAdded", `${member.name} joined as a learner (${joined.id})`);
      return waiting("Growing", `${member.name} is catching up`, { recheckMs: 1_000 });
    }
    case "promote":
      await engine.promote(observed, decision.member);
      return waiting("Growing", `${decision.member.name} is a voter`);
    case "moveLeader":
      await engine.moveLeader(observed, decision.to);
      return waiting("MovingLeader", `leadership moves to ${decision.to.name}`, { recheckMs: 500 });
    case "remove": {
      const { member } = decision;
      await engine.remove(observed, member); // "not found" is success; the pod goes only after the member
      await ctx.own.pods.delete(member.name);
      await ctx.own.claims.delete(member.name);
      ctx.event("Normal", "MemberRemoved", `${member.name}: ${decision.because}`);
      return waiting("Shrinking", `${member.name} leaves`);
    }
    case "recreatePod":
    case "restart": {
      const { member } = decision;
      await ctx.own.pods.delete(member.name);
      if (ctx.own.pods.get(member.name)) return waiting("Restarting", `${member.name} is stopping`);
      await ctx.own.pods.apply(member.name, objects.pod(cluster, member, "existing", ""));
      return waiting("Restarting", `${member.name} is starting`);
    }
    case "wait":
      return waiting(decision.reason, decision.message, { recheckMs: 5_000 });
    case "refuse":
      return fail(decision.reason, decision.message);
    case "nothing":
      return done({ recheckMs: 10_000 });
  }
}
