import { Pod, Service } from "@keelson/core/kinds";
import { controller, done, many, waiting } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { SeededRandom } from "../seeded-random.ts";
import { ReadyProcesses } from "../simulation/ready-processes.ts";
import { Beginnings, explore, planOf, replay } from "./explore.ts";
import { generatePlan, type Plan } from "./plan.ts";
import { asTest } from "./print.ts";
import { shrink } from "./shrink.ts";
import type { Subject } from "./subject.ts";
import type { World } from "./world.ts";

/** A web server: so many pods behind a Service. */
const Web = resource({
  group: "example.com",
  kind: "Web",
  version: "v1",
  spec: z.object({ size: z.int().min(1).default(2) }),
  status: z.object({ ready: z.int().optional() }),
});

type Mistake = "says Ready too early" | "never makes a pod again" | "writes for ever";

function webOperator(mistake?: Mistake) {
  let made = 0;
  return controller(Web, {
    owns: { service: Service, pods: many(Pod) },
    async reconcile(web, ctx) {
      const labels = { app: web.metadata.name };
      await ctx.own.service.apply({ spec: { selector: labels, ports: [{ port: 80 }] } });
      for (let i = 0; i < web.spec.size; i++) {
        const seen = ctx.own.pods.get(String(i));
        if (mistake === "never makes a pod again" && !seen && made++ >= web.spec.size) continue;
        await ctx.own.pods.apply(String(i), {
          metadata: { labels },
          spec: { containers: [{ name: "web", image: "web" }] },
        });
      }
      for (const key of ctx.own.pods.entries().keys())
        if (Number(key) >= web.spec.size) await ctx.own.pods.delete(key);
      const ready = ctx.own.pods
        .list()
        .filter(({ status }) =>
          status?.conditions?.some((each) => each.type === "Ready" && each.status === "True"),
        );
      ctx.setStatus({
        ready: mistake === "writes for ever" ? Math.floor(ctx.clock.now() / 1_000) % 100 : ready.length,
      });
      if (mistake === "writes for ever") ctx.recheck(1_000);
      if (mistake !== "says Ready too early" && ready.length < web.spec.size)
        return waiting(
          "Starting",
          `${web.metadata.name}-0 to ${web.metadata.name}-${web.spec.size - 1} are starting`,
          { recheckMs: 5_000 },
        );
      return done({ recheckMs: 10_000 });
    },
  });
}

const ref = { namespace: "default", name: "site" };

function missing(world: World<ReadyProcesses>): string | undefined {
  const size = (world.primary?.spec as { size?: number } | undefined)?.size;
  return world.isReady && world.simulation.endpoints("default", "site").length === size
    ? undefined
    : `not all of ${size} pods serve`;
}

function web(mistake?: Mistake): Subject<ReadyProcesses> {
  return {
    name: "web",
    kind: Web,
    resource: "example.com/webs",
    ref,
    application: () => new ReadyProcesses(),
    controllers: () => [webOperator(mistake)],
    collected: ["example.com/webs"],
    beginnings: {
      "two pods": async (world) => {
        await world.client.kind(Web).create({ metadata: ref, spec: { size: 2 } });
        await world.advance(60_000);
      },
    },
    edits: [
      {
        name: "edit: size",
        choose: (random) => ({ size: 1 + Math.floor(random.next() * 4) }),
        begin: async (world, { size }) => {
          await world.client.kind(Web).patch(ref, { type: "merge", body: { spec: { size: Number(size) } } });
        },
      },
    ],
    faults: [
      {
        name: "image: cannot be pulled, and all pods are deleted",
        lastsMs: 300_000,
        begin: async (world) => {
          const { missingImages } = world.simulation.kubelet;
          missingImages.add("web");
          for (const { metadata } of world.pods) await world.client.kind(Pod).delete(metadata as typeof ref);
          return () => void missingImages.delete("web");
        },
      },
    ],
    // This operator repairs nothing of that.
    without: [
      "by hand: a label is changed or removed",
      "by hand: a label is removed from all pods",
      "by hand: owner references are removed",
      "by hand: a child is deleted",
    ],
    makeFeasible: async () => {},
    missing,
    client: {
      write: (world) => world.simulation.endpoints("default", "site").length > 0,
      read: () => undefined,
    },
    oracles: [],
  };
}

describe("exploring an operator", () => {
  test("finds nothing wrong with one that is right", { timeout: 120_000 }, async () => {
    const report = await explore(web(), { runs: 25, seed: 1 });
    expect(report.failures.map(({ violation, test }) => `${violation.message}\n${test}`)).toEqual([]);
    expect(report.runs).toBe(25);
    expect(Math.max(...report.overlaps.keys())).toBeGreaterThan(1);
  });

  test.each([
    ["says Ready too early", "Ready=True means that clients are served"],
    ["never makes a pod again", "the spec is reached"],
    ["writes for ever", "nothing is written when idle"],
  ] as const)(
    "finds an operator that %s, and the few steps that it takes",
    { timeout: 120_000 },
    async (mistake, oracle) => {
      const subject = web(mistake);
      const { failures } = await explore(subject, { runs: 60, seed: 1 });
      const [failure] = failures;
      expect(failure?.violation.oracle).toBe(oracle);
      expect(failure?.plan.steps.length).toBeLessThan(4);
      expect(failure?.test).toContain("await replay(web, {");
      // What was printed fails again, in the same way.
      await expect(replay(subject, failure?.plan as Plan)).rejects.toThrow(oracle);
    },
  );

  test("does not blame an operator for what it cannot report while writes are not answered", async () => {
    const hang = { atMs: 0, do: "API: writes fail", with: { how: "timeout after commit", times: 1 } };
    const steps = [
      ...[hang, hang, hang],
      { atMs: 100, do: "edit: size", with: { size: 4 } },
      { atMs: 150_000, do: "edit: size", with: { size: 3 } },
    ];
    await replay(web(), { beginning: "two pods", seed: 1, steps });
  });

  test.each(["deleted", "taken over", "renamed"])(
    "lets a lease that was %s run out before anybody acts, and then somebody does",
    async (how) => {
      const writes: { readonly manager: string; readonly atMs: number }[] = [];
      await replay(
        web(),
        {
          beginning: "two pods",
          seed: 1,
          lease: true,
          steps: [
            { atMs: 10_000, do: "operator: its lease is touched", with: { how } },
            { atMs: 16_000, do: "edit: size", with: { size: 4 } },
          ],
        },
        { onEnd: ({ simulation }) => writes.push(...simulation.cluster.writes) },
      );
      const led = [...new Set(writes.map(({ manager }) => manager))];
      const [first] = writes.filter(({ atMs }) => atMs >= 76_000);
      if (how === "deleted") {
        // The leader writes it again, and leads on.
        expect(led).toEqual(["manager-1"]);
        return;
      }
      expect(led.at(-1)).toBe("manager-2");
      // The beginning took 60 s; the lease of somebody else counts for 24 s from when it was seen.
      expect(first?.atMs).toBeGreaterThan(94_000);
      expect(first?.atMs).toBeLessThan(100_000);
    },
  );

  test("finds a manager that goes on without its lease", async () => {
    const goesOn: Plan = {
      beginning: "two pods",
      seed: 1,
      lease: true,
      steps: [
        { atMs: 10_000, do: "operator: its lease is touched", with: { how: "taken over" } },
        { atMs: 30_000, do: "another writes" },
      ],
    };
    const subject = web();
    const another = {
      name: "another writes",
      begin: ({ simulation }: World<ReadyProcesses>) => {
        const { cluster, clock } = simulation;
        const [written] = cluster.requests.filter(({ write }) => write);
        (cluster.writes as unknown[]).push({ ...written, manager: "manager-1", atMs: clock.monotonic() });
      },
    };
    await expect(replay({ ...subject, edits: [...subject.edits, another] }, goesOn)).rejects.toThrow(
      "who does not hold the lease writes nothing",
    );
  });

  test("plays the same seed in the same way", { timeout: 60_000 }, async () => {
    const subject = web();
    const beginnings = new Beginnings(subject);
    const plan = planOf(subject, 7);
    const traces = [];
    for (let i = 0; i < 2; i++) traces.push((await replay(subject, plan, { beginnings })).trace);
    expect(traces[1]).toEqual(traces[0]);
  });
});

describe("a plan", () => {
  test("follows from its seed", () => {
    const options = {
      seed: 3,
      beginnings: ["a", "b"],
      disturbances: [{ name: "x" }, { name: "y", lastsMs: 60_000, choose: () => ({ n: 1 }) }, { name: "z" }],
    };
    const draw = () => generatePlan(options, new SeededRandom(3));
    expect(draw()).toEqual(draw());
    expect(draw().steps.length).toBeGreaterThan(0);
    expect(draw().steps.every(({ atMs }, i, all) => i === 0 || atMs >= (all[i - 1]?.atMs ?? 0))).toBe(true);
  });

  test("is shrunk to what its failure needs", async () => {
    const steps = Array.from({ length: 8 }, (_, i) => ({ atMs: i * 1_000, do: `step ${i}`, forMs: 8_000 }));
    const needs = ["step 2", "step 5"];
    const { plan, runs } = await shrink({ beginning: "a", seed: 1, managers: 2, steps }, async (candidate) =>
      needs.every((need) => candidate.steps.some((step) => step.do === need)),
    );
    expect(plan).toEqual({
      beginning: "a",
      seed: 1,
      steps: [
        { atMs: 0, do: "step 2", forMs: 1_000 },
        { atMs: 0, do: "step 5", forMs: 1_000 },
      ],
    });
    expect(runs).toBeLessThan(60);
  });

  test("is printed as a test to paste", () => {
    const plan = { beginning: "a", seed: 5, steps: [{ atMs: 100, do: "x", with: { n: 1 } }] };
    expect(asTest("web", plan, { oracle: "it converges", message: "", atMs: 0 })).toBe(
      [
        'test("seed 5: it converges", async () => {',
        "  await replay(web, {",
        '    beginning: "a",',
        "    seed: 5,",
        "    steps: [",
        '      {"atMs":100,"do":"x","with":{"n":1}},',
        "    ],",
        "  });",
        "});",
      ].join("\n"),
    );
  });
});
