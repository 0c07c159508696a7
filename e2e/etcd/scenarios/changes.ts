/** Changes that people ask for, sensible ones and mistakes. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Bench, failures, over, type Scenario } from "../bench.ts";
import { brokenRepository } from "../operator-images.ts";

export const scaled: Scenario = {
  id: "scale",
  fault: "scale 1 → 3 → 5 → 3 → 1 under load",
  goal: "0 lost, 0 failed after 5 s of client retry",
  runs: 3,
  size: 1,
  run: async (bench) => {
    const since = bench.load.ledger.now;
    const figures: Record<string, number> = {};
    let from = 1;
    for (const size of [3, 5, 3, 1]) {
      await bench.world.change(bench.name, { size });
      figures[`${from} → ${size}`] = await bench.time(
        `${size} members`,
        180_000,
        async () => await bench.isReady(size),
      );
      from = size;
    }
    // Writes that are to fail have done so by then.
    await sleep(6_000);
    const felt = bench.load.ledger.summary(since);
    figures["longest without a write"] = felt.longestGapMs;
    figures["slowest write"] = felt.slowestMs;
    return { figures, missed: failures(felt) };
  },
};

export const upgraded: Scenario = {
  id: "upgrade",
  fault:
    "upgrade 3.5.35 → 3.6.16 → 3.7.3 under load by one changed field, with an image that cannot run for 3.7.3, then a good one",
  goal: "0 lost; rolled back in ≤ 2 min",
  runs: 3,
  size: 3,
  spec: { version: "3.5.35", image: brokenRepository },
  versions: ["3.6.16"],
  fresh: true,
  run: async (bench) => {
    const { world, name, load } = bench;
    const since = load.ledger.now;
    await world.change(name, { version: "3.7.3" });
    const first = await bench.time("3.6.16 runs", 240_000, async () => await runs(bench, "3.6.16"));
    await bench.time("a member takes the bad image", 240_000, async () => {
      const { status } = await world.get(name);
      return status?.rollout?.recipe.version === "3.7.3" || status?.failedRollout !== undefined;
    });
    const rolledBack = await bench.time("the bad image is rolled back", 240_000, async () => {
      const { status } = await world.get(name);
      const back = status?.members?.every((member) => member.version === "3.6.16" && member.ready);
      return status?.failedRollout !== undefined && status.rollout === undefined && back === true;
    });
    await world.change(name, { image: "gcr.io/etcd-development/etcd" });
    const second = await bench.time("3.7.3 runs", 240_000, async () => {
      return (await runs(bench, "3.7.3")) && (await bench.isReady());
    });
    await sleep(6_000);
    const felt = load.ledger.summary(since);
    const figures = {
      "3.5 to 3.6": first,
      "rolled back": rolledBack,
      "3.6 to 3.7": second,
      "longest without a write": felt.longestGapMs,
      "slowest write": felt.slowestMs,
    };
    return { figures, missed: [...over(figures, { "rolled back": 120_000 }), ...failures(felt)] };
  },
};

export const upgradedFrom34: Scenario = {
  id: "upgrade34",
  fault: "upgrade 3.4.23 → 3.5.35 → 3.6.16 under load by one changed field",
  goal: "0 lost, 0 failed after 5 s of client retry",
  runs: 3,
  size: 3,
  versions: ["3.4.23"],
  fresh: true,
  run: async (bench) => {
    const { world, name, load } = bench;
    const since = load.ledger.now;
    await world.change(name, { version: "3.6.16" });
    const first = await bench.time("3.5.35 runs", 240_000, async () => await runs(bench, "3.5.35"));
    const second = await bench.time("3.6.16 runs", 240_000, async () => {
      return (await runs(bench, "3.6.16")) && (await bench.isReady());
    });
    await sleep(6_000);
    const felt = load.ledger.summary(since);
    const figures = {
      "3.4 to 3.5": first,
      "3.5 to 3.6": second,
      "longest without a write": felt.longestGapMs,
      "slowest write": felt.slowestMs,
    };
    return { figures, missed: failures(felt) };
  },
};

async function runs({ world, name }: Bench, version: string): Promise<boolean> {
  const { status } = await world.get(name);
  const everywhere = status?.members?.every((member) => member.version === version);
  return everywhere === true && status?.template?.recipe.version === version;
}

interface Mistake {
  readonly what: string;
  readonly bad: object;
  readonly corrected: object;
  /** What a condition must say. */
  readonly why: RegExp;
}

function mistakes(good: { version: string; image: string }): readonly Mistake[] {
  return [
    {
      what: "version",
      bad: { version: "3.9.1" },
      corrected: { version: good.version },
      why: /not supported/,
    },
    {
      what: "image",
      bad: { image: "registry.invalid/etcd" },
      corrected: { image: good.image },
      why: /registry\.invalid/,
    },
    {
      what: "resources",
      bad: { resources: { requests: { cpu: "1000" } } },
      corrected: { resources: null },
      why: /cpu/,
    },
    {
      what: "storage class",
      bad: { size: 4, storage: { className: "nowhere" } },
      corrected: { size: 3, storage: { className: null } },
      why: /nowhere|cannot start|volume/,
    },
  ];
}

export const badSpecs: Scenario = {
  id: "badspec",
  fault: "bad spec (impossible version, image, resources, storage class), then corrected",
  goal: "the running cluster untouched, a condition says why, recovers on correction",
  runs: 3,
  size: 3,
  run: async (bench) => {
    const { world, name } = bench;
    const [since, before] = [bench.load.ledger.now, await bench.incarnations()];
    const figures: Record<string, number> = {};
    for (const { what, bad, corrected, why } of mistakes((await world.get(name)).spec)) {
      await world.change(name, bad);
      figures[`${what} refused`] = await bench.time(
        `a condition says what is wrong with the ${what}`,
        120_000,
        async () => {
          const { status } = await world.get(name);
          const told = status?.conditions?.filter(
            ({ type, status: is }) => type === "Ready" && is === "False",
          );
          return told?.some(({ message }) => why.test(message)) ?? false;
        },
      );
      await world.change(name, corrected);
      figures[`${what} corrected`] = await bench.time(
        `the ${what} is corrected`,
        120_000,
        async () => await bench.isReady(),
      );
    }
    await sleep(1_500);
    const felt = bench.load.ledger.summary(since);
    figures["longest without a write"] = felt.longestGapMs;
    const missed = [...over(figures, { "longest without a write": 1_000 }), ...failures(felt)];
    if (JSON.stringify(await bench.incarnations()) !== JSON.stringify(before))
      missed.push("a running member was touched");
    await bench.settle();
    return { figures, missed };
  },
};
