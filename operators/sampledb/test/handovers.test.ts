/** Changes of the primary that are cut short: a server that takes writes meanwhile keeps them. */
import { type ApplicationCall, operatorName, type Plan, replay } from "@keelson/testing";
import { describe, expect, test } from "vitest";
import { failingScript } from "./explore/agent.ts";
import { annotate, change, databaseIn, type RedisWorld, serving } from "./explore/database.ts";
import { found } from "./explore/found.ts";
import { scenario } from "./explore/happenings.ts";
import { subject } from "./explore/index.ts";

const target = "db-1";

/** Asks for a handover, and lets the answer to one call be lost; the operator does not reach the target after that. */
function cutShort(
  isTheCall: (call: ApplicationCall) => boolean,
  forMs: number,
  begin: (world: RedisWorld) => Promise<void> = async (world) =>
    await annotate(world, { "sampledb.keelson.dev/hand-over-to": target }),
) {
  return async (world: RedisWorld) => {
    const { network } = world.simulation;
    const { intercept } = network;
    network.intercept = (call) => {
      if (!isTheCall(call)) return intercept(call);
      network.intercept = intercept;
      const again = network.impair({ from: call.from, to: target, how: "dropped" });
      world.clock.timer(forMs, again);
      world.note(`the answer to ${call.method} is lost`);
      return "lose-answer";
    };
    await begin(world);
  };
}

function expectLost({ trace }: RedisWorld): void {
  expect(trace.some(({ text }) => text.startsWith("the answer to"))).toBe(true);
}

/** An application that is content with the acknowledgement of any server that takes its writes. */
class PlainWriter {
  readonly taken = new Map<string, string>();

  readonly begin = (world: RedisWorld): void => {
    let next = 0;
    const write = () => {
      for (const server of world.application.servers) {
        const key = `plain-${server.name}-${next++}`;
        if (world.application.write(server, key, "1") !== undefined) this.taken.set(key, server.name);
      }
      if (world.clock.now() < endMs) world.clock.timer(50, write);
    };
    const endMs = world.clock.now() + 60_000;
    write();
  };

  readonly check = (world: RedisWorld): void => {
    expect(this.taken.size).toBeGreaterThan(100);
    const kept = serving(world)?.files.keys;
    expect([...this.taken.keys()].filter((key) => !kept?.has(key))).toEqual([]);
  };
}

const asks = (method: string, to: string) => (call: ApplicationCall) =>
  call.method === method && call.to === to;

/** The first call of a kind after one of another. */
function after(isFirst: (call: ApplicationCall) => boolean, isThen: (call: ApplicationCall) => boolean) {
  let hasBegun = false;
  return (call: ApplicationCall) => {
    const isIt = hasBegun && isThen(call);
    hasBegun ||= isFirst(call);
    return isIt;
  };
}

describe("a handover", { timeout: 120_000 }, () => {
  test.each<[string, () => (call: ApplicationCall) => boolean]>([
    ["lead of the target", () => asks("lead", target)],
    ["follow of the old primary", () => asks("follow", "db-0")],
    ["opening the target", () => after(asks("lead", target), asks("set", target))],
    ["resume of the old primary", () => asks("resume", "db-0")],
  ])("loses no write when the answer to this call is lost: %s", async (_name, isTheCall) => {
    const writer = new PlainWriter();
    await scenario("two replicas", [
      [1_000, cutShort(isTheCall(), 20_000)],
      [1_010, writer.begin],
      [90_000, expectLost],
      [90_001, writer.check],
    ]);
  });
});

test("a failover loses no write when the operator dies in it, and then the server that was chosen", {
  timeout: 120_000,
}, async () => {
  const writer = new PlainWriter();
  let chosen = "";
  await scenario("two replicas", [
    [
      1_000,
      ({ simulation: { network, kubelet } }) => {
        const { intercept } = network;
        network.intercept = (call) => {
          if (call.method !== "lead") return intercept(call);
          network.intercept = intercept;
          chosen = call.to;
          return "die-after";
        };
        kubelet.crash("db-0");
      },
    ],
    [1_010, writer.begin],
    [1_500, ({ simulation: { kubelet } }) => kubelet.crash(chosen)],
    [
      90_000,
      (world) => {
        expect(chosen).not.toBe("");
        writer.check(world);
      },
    ],
  ]);
});

test("a database that is paused while a pass waits for a slow server has nobody promoted by that pass", {
  timeout: 120_000,
}, async () => {
  let promotions = 0;
  let pausedAtMs = -1;
  await scenario("two replicas", [
    [
      1_000,
      (world) => {
        const { network, kubelet } = world.simulation;
        const { intercept } = network;
        network.impair({ from: operatorName, to: "db-2", how: "slow", ms: 800 });
        network.intercept = (call) => {
          if (call.method === "facts" && databaseIn(world)?.status?.promotion && pausedAtMs < 0) {
            pausedAtMs = world.atMs;
            void change(world, { paused: true });
          }
          if (call.method === "lead") promotions++;
          return intercept(call);
        };
        kubelet.crash("db-0");
      },
    ],
    [
      30_000,
      async (world) => {
        expect(pausedAtMs).toBeGreaterThan(0);
        expect(promotions).toBe(0);
        expect(databaseIn(world)?.status?.promotion).toBeDefined();
        await change(world, { paused: false });
      },
    ],
  ]);
});

test("a target that never took a write is not awaited when the primary stops, though it is damaged", {
  timeout: 120_000,
}, async () => {
  const plan = Object.values(found).find(({ seed }) => seed === 750002451) as Plan;
  const { trace } = await replay(subject, plan);
  expect(trace.map(({ text }) => text).join("\n")).not.toContain("approve-loss");
});

test("a target that never took a write is not awaited when the old primary cannot be told to follow it", {
  timeout: 120_000,
}, async () => {
  const { longestOutageMs, trace } = await scenario("two replicas", [
    [
      1_000,
      async (world) => {
        const { network, kubelet } = world.simulation;
        const { intercept } = network;
        network.intercept = (call) => {
          if (!asks("follow", "db-0")(call)) return intercept(call);
          network.intercept = intercept;
          const { volume } = world.application.server(target) ?? {};
          if (volume) volume.corrupt = true;
          kubelet.crash(target);
          world.note("the target is damaged");
          return "refuse";
        };
        await annotate(world, { "sampledb.keelson.dev/hand-over-to": target });
      },
    ],
    [10_000, () => {}],
  ]);
  const text = trace.map((each) => each.text).join("\n");
  expect(text).toContain("the target is damaged");
  expect(text).not.toContain("approve-loss");
  expect(longestOutageMs).toBeLessThanOrEqual(5_000);
});

describe("the switch of an upgrade", { timeout: 120_000 }, () => {
  test.each<[string, string, string]>([
    ["goes back because a migration fails", failingScript, "7.0.1"],
    ["has migrations to run", "return 1", "8.0.1"],
  ])(
    "loses no write of a client that is connected to a server by name: it %s",
    async (_name, script, runs) => {
      const writer = new PlainWriter();
      const migrations = [{ version: 1, name: "change", since: "8.0", script }];
      await scenario("a replica", [
        [1_000, async (world) => await change(world, { version: "8.0", migrations })],
        [1_010, writer.begin],
        [90_000, writer.check],
        [90_001, (world) => expect(databaseIn(world)?.status?.version).toBe(runs)],
      ]);
    },
  );

  test.each<[string, () => (call: ApplicationCall) => boolean]>([
    ["lead of the new version", () => asks("lead", target)],
    ["opening the new version", () => after(asks("lead", target), asks("set", target))],
  ])("loses no write when the answer to this call is lost: %s", async (_name, isTheCall) => {
    const writer = new PlainWriter();
    const begin = async (world: RedisWorld) => await change(world, { version: "8.0" });
    await scenario("a replica", [
      [1_000, cutShort(isTheCall(), 20_000, begin)],
      [1_010, writer.begin],
      [150_000, expectLost],
      [150_001, writer.check],
    ]);
  });
});
