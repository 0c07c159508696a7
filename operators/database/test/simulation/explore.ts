/** Runs one random story: faults come and go, then everything is repaired, and the oracle looks. */
import type { Agent } from "../../src/agent/agent.ts";
import type { Policy } from "../../src/ha/state.ts";
import type { Pod } from "./pod.ts";
import { World } from "./world.ts";

export interface Story {
  readonly seed: number;
  readonly instances?: number;
  readonly durability?: Policy["durability"];
  /** How long faults come. */
  readonly troubleMs?: number;
  /** Instances are taken out of the policy and back into it: they leave and come without a word to the primary. */
  readonly membersChange?: boolean;
}

export interface Outcome {
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  readonly acknowledged: number;
  readonly promotions: number;
  readonly faults: readonly string[];
}

export async function explore(story: Story): Promise<Outcome> {
  const { seed, instances = 3, durability = "quorum", troubleMs = 60_000 } = story;
  const world = new World({ seed, instances, durability });
  const faults: string[] = [];
  const { chance } = world;
  for (const pod of world.pods) pod.start();
  await world.advance(20_000);
  const repairs = new Set<() => void>();
  const untilMs = world.nowMs + troubleMs;
  let switchovers = 0;
  while (world.nowMs < untilMs) {
    await world.advance(chance.between(50, 6_000));
    const pod = chance.isTrue(0.5) ? world.pod(world.record.holder || "db-0") : chance.pick(world.pods);
    const kind = chance.pick(story.membersChange ? ([...kinds, "members", "members"] as const) : kinds);
    faults.push(`${(world.nowMs / 1_000).toFixed(1)} ${kind} ${pod.name}`);
    world.log(pod.name, `FAULT ${kind}`);
    if (kind === "switchover") world.policy({ switchover: { id: String(++switchovers) } });
    else {
      const repair = inflict(world, pod, kind);
      repairs.add(repair);
      world.later(chance.between(200, 15_000), () => {
        if (repairs.delete(repair)) repair();
      });
    }
  }
  world.log("world", "REPAIRED");
  for (const repair of repairs) repair();
  world.heal();
  world.setApi(true);
  for (const pod of world.pods) {
    pod.thaw();
    pod.unstall();
    pod.isRefusing = false;
    pod.start();
  }
  await world.advance(90_000);
  world.check();
  return {
    violations: world.violations,
    trace: world.trace,
    acknowledged: world.acknowledgements.length,
    promotions: world.promotions,
    faults,
  };
}

const kinds = [
  "kill",
  "freeze",
  "stall",
  "isolate",
  "cutIn",
  "cutOut",
  "cutPair",
  "api",
  "crash",
  "island",
  "deaf",
  "refuse",
  "volume",
  "drain",
  "replace",
  "forget",
  "goBack",
  "switchover",
] as const;

/** Also one that is about to: its server is being stopped for it. */
function isRewinding(agent: Agent | undefined): boolean {
  return agent === undefined || agent.status().reason === "rewind";
}

/** Breaks something, and returns what repairs it. */
function inflict(
  world: World,
  pod: Pod,
  kind: Exclude<(typeof kinds)[number], "switchover"> | "members",
): () => void {
  const everybody = [...world.pods.map(({ name }) => name), "api"].filter((name) => name !== pod.name);
  switch (kind) {
    case "kill":
      pod.kill();
      return () => pod.start();
    case "freeze":
      pod.freeze();
      return () => pod.thaw();
    case "stall":
      pod.stall();
      return () => pod.unstall();
    case "isolate":
      for (const name of everybody) {
        world.cut(pod.name, name);
        world.cut(name, pod.name);
      }
      return () => world.heal();
    case "cutIn":
      for (const name of everybody) world.cut(name, pod.name);
      return () => world.heal();
    case "cutOut":
      for (const name of everybody) world.cut(pod.name, name);
      return () => world.heal();
    case "cutPair": {
      const other = world.chance.pick(everybody);
      world.cut(pod.name, other);
      if (world.chance.isTrue(0.5)) world.cut(other, pod.name);
      return () => world.heal();
    }
    case "api":
      world.setApi(false);
      return () => world.setApi(true);
    case "refuse":
      // A firewall that rejects: the pod lives, and everybody is told that it does not.
      pod.isRefusing = true;
      world.cut(pod.name, "api");
      return () => {
        pod.isRefusing = false;
        world.heal();
      };
    case "deaf":
      world.deaf.add(pod.name);
      return () => world.heal();
    case "island":
      for (const name of everybody.filter((each) => each !== "api")) {
        world.cut(pod.name, name);
        world.cut(name, pod.name);
      }
      return () => world.heal();
    case "crash":
      pod.server.die();
      return () => undefined;
    case "volume":
      // A lost disk beside another that is lost or half rewound is beyond what a majority of three can hold.
      if (
        world.pods.some(({ server, agent }) => (server.data?.timelineEpoch ?? -1) < 0 || isRewinding(agent))
      )
        return () => undefined;
      if (pod.name === world.record.holder && world.record.published.quorums.length !== 1)
        return () => undefined;
      pod.loseVolume();
      return () => pod.start();
    case "drain": {
      const { agent } = pod;
      if (agent) void agent.drain().then(() => agent === pod.agent && pod.kill());
      return () => {
        pod.kill();
        pod.start();
      };
    }
    case "members": {
      const everyone = world.pods.map(({ name }) => name);
      world.policy({ instances: everyone.filter((name) => name !== pod.name) });
      return () => world.policy({ instances: everyone });
    }
    case "forget":
      world.forgetRecord();
      return () => undefined;
    case "goBack":
      // With async nothing but the record tells a primary from before that there was another after it.
      if (world.record.policy.durability !== "async") world.forgetRecord(world.chance.pick(world.records));
      return () => undefined;
    case "replace":
      pod.kill();
      pod.uid = `${pod.name}-uid-${Math.floor(world.chance.next() * 1e9)}`;
      return () => pod.start();
  }
}
