/** The operator itself: replaced, taken away, killed in the middle of its work. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Bench, failures, over, type Run, type Scenario } from "../bench.ts";
import { type Death, OperatorProcess } from "../crashing.ts";
import { operatorImages } from "../operator-images.ts";

export const operatorReplaced: Scenario = {
  id: "operator",
  fault: "operator upgraded, removed for 10 s, installed again",
  goal: "zero member restarts, etcd serves throughout",
  runs: 3,
  size: 3,
  run: async (bench) => {
    const { operator } = bench.world;
    const [first, second] = operatorImages;
    const [before, since] = [await bench.incarnations(), bench.load.ledger.now];
    const upgraded = await worksAgain(bench, async () => await operator.install(second));
    await operator.remove();
    await sleep(10_000);
    const installed = await worksAgain(bench, async () => await operator.install(first));
    // Whatever the new one would do at once, it has done by then.
    await sleep(10_000);
    const felt = bench.load.ledger.summary(since);
    const figures = {
      "works after the upgrade": upgraded,
      "works after the installation": installed,
      "longest without a write": felt.longestGapMs,
      "slowest write": felt.slowestMs,
    };
    const missed = over(figures, { "longest without a write": 1_000 });
    if (JSON.stringify(await bench.incarnations()) !== JSON.stringify(before))
      missed.push("a member was restarted");
    missed.push(...failures(felt));
    return { figures, missed };
  },
};

/** How long until an operator has observed a change that was made after the act began. */
async function worksAgain(bench: Bench, act: () => Promise<void>): Promise<number> {
  const since = bench.load.ledger.now;
  await act();
  await bench.touch();
  await bench.time("the operator works", 90_000, async () => await bench.isReady());
  return bench.load.ledger.now - since;
}

/** Work in the middle of which the operator is killed. They lead from one to the next and back to the first. */
interface Stage {
  readonly what: string;
  readonly size: number;
  /** Resolves to what shows that the work is done, beside a cluster at rest. */
  readonly begin: (bench: Bench, nth: number) => Promise<() => Promise<boolean>>;
}

/** The operator has seen the newest spec whenever the cluster is ready. */
const seen = async () => true;

const stages: readonly Stage[] = [
  {
    what: "heals a wiped member",
    size: 3,
    begin: async (bench, nth) => {
      const name = await bench.member("Follower", nth);
      await bench.world.damage(name, "wipe");
      return async () => !(await bench.members()).includes(name);
    },
  },
  {
    what: "grows to five",
    size: 5,
    begin: async ({ world, name }) => {
      await world.change(name, { size: 5 });
      return seen;
    },
  },
  {
    what: "shrinks to three",
    size: 3,
    begin: async ({ world, name }) => {
      await world.change(name, { size: 3 });
      return seen;
    },
  },
  {
    what: "rolls out a setting",
    size: 3,
    begin: async ({ world, name }, nth) => {
      await world.change(name, { settings: { snapshotCount: 20_000 + nth } });
      return seen;
    },
  },
];

/** How many changes each stage takes without a crash. */
const usual = new Map<Stage, number>();
/** What one operator leaves undone the next one finds. */
let incumbent: OperatorProcess | undefined;

export const operatorKilled: Scenario = {
  id: "killed",
  fault:
    "operator killed before and after writes to Kubernetes and etcd, spread evenly over healing, growing, shrinking and rolling",
  goal: "converges to the same end state, at 20 points",
  runs: 20,
  size: 3,
  prepare: async (bench) => {
    await bench.world.operator.remove();
    incumbent = await OperatorProcess.start(bench.world.kubeconfig);
    for (const stage of stages) {
      const before = incumbent.changes.length;
      const done = await stage.begin(bench, 1_000);
      await bench.time(
        stage.what,
        180_000,
        async () => (await done()) && (await isAtRest(bench, stage.size)),
      );
      usual.set(stage, incumbent.changes.length - before);
    }
  },
  run: async (bench, nth) => {
    const stage = stages[nth % stages.length] as Stage;
    return await dieIn(bench, stage, nth);
  },
  conclude: async (bench) => {
    await incumbent?.stop();
    incumbent = undefined;
    await bench.world.change(bench.name, { size: 3 });
    await bench.world.operator.install(operatorImages[0]);
    await bench.ready(3, 120_000);
  },
};

async function dieIn(bench: Bench, stage: Stage, nth: number): Promise<Run> {
  const { world } = bench;
  const rounds = operatorKilled.runs / stages.length;
  const round = Math.floor(nth / stages.length) % rounds;
  const changes = usual.get(stage) ?? 2;
  const death: Death = {
    change: 1 + Math.floor(((round + 0.5) * (changes - 1)) / rounds),
    when: nth % 2 === round % 2 ? "before" : "after",
  };
  const victim = incumbent?.alive ? incumbent : await OperatorProcess.start(world.kubeconfig);
  const since = bench.load.ledger.now;
  await victim.sentence(death);
  const done = await stage.begin(bench, nth);
  const missed: string[] = [];
  await Promise.race([victim.ended, sleep(120_000)]);
  if (victim.alive) {
    missed.push(`the operator made no ${death.change} changes while it ${stage.what}`);
    await victim.stop();
  }
  incumbent = await OperatorProcess.start(world.kubeconfig);
  await bench.time(stage.what, 180_000, async () => (await done()) && (await isAtRest(bench, stage.size)));
  const settled = bench.load.ledger.now - since;
  await sleep(1_500);
  const felt = bench.load.ledger.summary(since);
  const figures = { "settled, both lives together": settled, "slowest write": felt.slowestMs };
  missed.push(...failures(felt));
  return { figures, missed };
}

/** Everyone votes and serves, runs what the spec asks for, and nothing is left over. */
async function isAtRest(bench: Bench, size: number): Promise<boolean> {
  if (!(await bench.isReady(size))) return false;
  const { status } = await bench.world.get(bench.name);
  const members = status?.members ?? [];
  const names = JSON.stringify(members.map(({ name }) => name).sort());
  const { pods, claims } = await bench.world.objects(bench.name);
  return (
    status?.rollout === undefined &&
    members.every(({ phase, template }) => phase === "Voter" && template === status?.template?.hash) &&
    JSON.stringify(pods) === names &&
    JSON.stringify(claims) === names
  );
}
