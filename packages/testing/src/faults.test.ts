/** Every fault that a network, a server and a process can do to a manager, one by one. */
import { ConfigMap, Deployment } from "@keelson/core/kinds";
import { internalsOf } from "@keelson/runtime/internal";
import { describe, expect, test } from "vitest";
import { type Cluster, cluster } from "./cluster.ts";
import { everyCrash } from "./every-crash.ts";
import { conflict, type Fault, serverError, tooManyRequests } from "./faults.ts";
import { change, create, Memcached, memcached } from "./memcached.fixture.ts";

const ref = { namespace: "default", name: "a" };
const options = { controllers: [memcached] };

async function configs(c: Cluster): Promise<string[]> {
  const { items } = await c.client.kind(ConfigMap).list({ labels: "keelson.dev/controller" });
  return items.map(({ metadata }) => metadata.name);
}

async function replicas(c: Cluster): Promise<number | undefined> {
  return (await c.client.kind(Deployment).get(ref)).spec?.replicas;
}

/** A life in two stages, each of which must come to rest as asked. */
async function life(c: Cluster): Promise<void> {
  await create(c.client, "a", { extra: ["x", "y"] });
  await c.converges();
  expect(await replicas(c)).toBe(3);
  expect(await configs(c)).toEqual(["a-x", "a-y"]);
  await change(c.client, "a", { size: 5, extra: ["y", "z"] });
  await c.converges();
  expect(await replicas(c)).toBe(5);
  expect(await configs(c)).toEqual(["a-y", "a-z"]);
}

describe("at every write, one after the other", () => {
  const faults: [string, Fault][] = [
    ["409", conflict()],
    ["429 with Retry-After", tooManyRequests(3)],
    ["500", serverError()],
    ["503", serverError(503)],
    ["a refused connection", { type: "refuse" }],
    ["a connection that breaks before the request is read", { type: "reset" }],
    ["an answer that is lost after the commit", { type: "lose-answer" }],
    ["an answer that never comes after the commit", { type: "timeout-after-commit" }],
    ["silence", { type: "silence" }],
    ["a slow server", { type: "delay", ms: 20_000 }],
  ];
  test.each(faults)("%s is survived without residue", async (_name, fault) => {
    let writes = 1;
    for (let n = 1; n <= writes; n++) {
      await using c = await cluster(options);
      let hit = false;
      c.faults.inject({
        on: ({ index }) => {
          hit ||= index === n;
          return index === n;
        },
        fault,
      });
      await life(c);
      expect(hit).toBe(true);
      if (n === 1) writes = c.writes.length - 1;
    }
    expect(writes).toBeGreaterThanOrEqual(8);
  });

  test("a crash before or after it is survived without residue", async () => {
    const { writes, runs } = await everyCrash(options, life);
    expect(writes).toBeGreaterThanOrEqual(8);
    expect(runs).toBe(1 + 2 * writes);
  });

  test("Retry-After is waited for", async () => {
    await using c = await cluster(options);
    c.faults.inject({ on: ({ write }) => write, fault: tooManyRequests(7) });
    await create(c.client, "a");
    await c.converges();
    const [first, second] = c.writes;
    expect(second?.path).toBe(first?.path);
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(7_000);
  });

  test("409 again and again is no hot loop", async () => {
    await using c = await cluster(options);
    c.faults.inject({
      on: ({ write, resource }) => write && resource === "deployments",
      fault: conflict(),
      times: 11,
    });
    await create(c.client, "a");
    await c.converges();
    const times = c.writes.filter(({ resource }) => resource === "deployments").map(({ atMs }) => atMs);
    // Each time it tries to make the child, looks whether one is there, and tries once more.
    expect(times).toHaveLength(12);
    const gaps = times
      .slice(1)
      .map((at, i) => at - (times[i] as number))
      .filter((gap) => gap > 0);
    // Its other children's events bring it back at once at first; then only time does.
    expect(gaps.length).toBeGreaterThanOrEqual(3);
    expect(gaps).toEqual(gaps.toSorted((a, b) => a - b));
    expect(gaps.at(-1)).toBeGreaterThan(10);
  });
});

describe("watches", () => {
  const disturb: [string, (c: Cluster) => void][] = [
    ["that the server ends", (c) => c.endWatches()],
    ["that break", (c) => c.breakWatches()],
    ["whose history is lost (410)", (c) => c.loseHistory()],
  ];
  test.each(disturb)("%s are resumed, and nothing that happened meanwhile is missed", async (_name, hurt) => {
    await using c = await cluster(options);
    await create(c.client, "a", { extra: ["x"] });
    await c.converges();
    hurt(c);
    await change(c.client, "a", { extra: ["y"] });
    await c.client.kind(ConfigMap).delete({ namespace: "default", name: "a-x" });
    await c.client.kind(Deployment).delete(ref);
    await c.converges();
    expect(await configs(c)).toEqual(["a-y"]);
    expect(await replicas(c)).toBe(3);
  });

  test("what was deleted while history was lost is noticed", async () => {
    await using c = await cluster(options);
    await create(c.client, "a", { extra: ["x", "y"] });
    await c.converges();
    const outage = c.outage();
    await c.advance(1_000);
    await c.client.kind(ConfigMap).delete({ namespace: "default", name: "a-x" });
    c.loseHistory();
    outage.end();
    await c.converges();
    expect(await configs(c)).toEqual(["a-x", "a-y"]);
  });

  test("a socket that goes silent is given up within three minutes, and the cache catches up", async () => {
    await using c = await cluster(options);
    await create(c.client, "a");
    await c.converges();
    c.silenceWatches();
    await change(c.client, "a", { size: 7 });
    await c.until(async () => (await replicas(c)) === 7, 180_000);
    await c.converges();
  });

  test("an API server that restarts is waited for", async () => {
    await using c = await cluster(options);
    await create(c.client, "a");
    await c.converges();
    const outage = c.outage();
    await change(c.client, "a", { size: 6 });
    await c.advance(200_000);
    expect(await replicas(c)).toBe(3);
    expect(c.managers[0]?.running?.ready()).toMatch(/has been cut off from the server for \d+ s/);
    outage.end();
    await c.converges();
    expect(await replicas(c)).toBe(6);
    expect(c.managers[0]?.running?.ready()).toBeUndefined();
  });
});

describe("stale caches", () => {
  test("never make a manager act against its own writes", async () => {
    await using c = await cluster(options);
    await create(c.client, "a", { extra: ["x", "y"] });
    for (const resource of ["configmaps", "deployments", "services"]) c.faults.hold(resource);
    await c.advance(60_000);
    const made = c.writes.filter(({ resource }) => resource === "configmaps");
    expect(made).toHaveLength(2);
    await change(c.client, "a", { extra: ["y"] });
    await c.advance(60_000);
    const deletes = c.writes.filter(({ method }) => method === "DELETE");
    expect(deletes.map(({ path }) => path)).toEqual(["/api/v1/namespaces/default/configmaps/a-x"]);
    c.faults.clear();
    await c.converges();
    expect(await configs(c)).toEqual(["a-y"]);
  });

  test("nothing is done before every cache is complete", async () => {
    await using c = await cluster({ controllers: [memcached], managers: 0 });
    await create(c.client, "a");
    const on = ({ resource }: { resource: string }) => resource === "services";
    c.faults.inject({ on, fault: { type: "silence" }, times: Number.POSITIVE_INFINITY });
    c.startManager();
    await c.advance(600_000);
    expect(c.managers[0]?.running).toBeUndefined();
    expect(c.writes).toHaveLength(0);
    c.faults.clear();
    await c.converges();
  });
});

describe("two managers", () => {
  test("that start at once: one works, the other stands by with warm caches", async () => {
    await using c = await cluster({ ...options, managers: 2 });
    await life(c);
    expect(new Set(c.writes.map(({ manager }) => manager)).size).toBe(1);
    expect(c.managers.map(({ running }) => running?.ready())).toEqual([undefined, undefined]);
    // What it has gathered waits for the day on which it leads.
    const standby = c.managers.find(({ running }) => !running?.leading)?.running;
    expect(standby && internalsOf(standby).loops[0]?.queue.depth).toBeGreaterThan(0);
  });

  test("the standby takes over when the leader dies, and the work goes on", async () => {
    await using c = await cluster({ ...options, managers: 2 });
    await create(c.client, "a", { extra: ["x"] });
    await c.converges();
    const leader = c.managers.find(({ running }) => running?.leading);
    c.crash(leader);
    await change(c.client, "a", { extra: ["y"] });
    await c.converges();
    expect(await configs(c)).toEqual(["a-y"]);
    expect(new Set(c.writes.map(({ manager }) => manager)).size).toBe(2);
  });

  test("without a lease they get in each other's way and still leave what was asked for", async () => {
    await using c = await cluster({ ...options, managers: 2, leaderElection: false });
    await life(c);
  });

  test("a leader that is cut off while a reconcile is under way writes nothing once another may lead", async () => {
    await using c = await cluster({ ...options, managers: 2 });
    await create(c.client, "a", { extra: ["x"] });
    await c.converges();
    const old = c.managers.find(({ running }) => running?.leading);
    const name = old?.name;
    // The old leader's writes hang in the network and its renewals are lost; its reconcile is in the middle of it all.
    c.faults.inject({
      on: (request) => request.manager === name && request.resource === "leases",
      fault: { type: "reset" },
      times: Number.POSITIVE_INFINITY,
    });
    c.faults.inject({
      on: (request) => request.manager === name && request.write,
      fault: { type: "delay", ms: 9_000 },
    });
    await change(c.client, "a", { extra: ["x", "y", "z"] });
    await c.until(() => c.managers.some((manager) => manager !== old && manager.running?.leading));
    const takenOverAt = c.clock.monotonic();
    await c.advance(600_000);
    const late = c.writes.filter(({ manager, atMs }) => manager === name && atMs >= takenOverAt - 1_000);
    expect(late).toEqual([]);
    expect(old?.failure?.message).toContain("is lost");
    expect(await configs(c)).toEqual(["a-x", "a-y", "a-z"]);
  });
});

describe("a bad day", () => {
  const resources = ["configmaps", "deployments", "services", "memcacheds"];

  /** Anything may happen to managers, requests and watches until 400 s. */
  function disturb(c: Cluster): void {
    const random = c.random.fork("day");
    c.faults.swarm({
      random: c.random.fork("swarm"),
      chance: 0.25,
      until: () => c.clock.monotonic() > 400_000,
      faults: [
        conflict(),
        tooManyRequests(1),
        serverError(),
        serverError(503),
        { type: "refuse" },
        { type: "reset" },
        { type: "lose-answer" },
        { type: "timeout-after-commit" },
        { type: "silence" },
        { type: "delay", ms: 3_000 },
      ],
    });
    const strike = () => {
      const roll = random.next();
      if (roll < 0.2) c.crash(c.managers[Math.floor(random.next() * c.managers.length)]);
      else if (roll < 0.4) c.breakWatches();
      else if (roll < 0.5) c.loseHistory();
      else if (roll < 0.6) c.silenceWatches();
      else {
        const resource = resources[Math.floor(random.next() * resources.length)] as string;
        c.faults.hold(resource);
        c.clock.timer(random.next() * 60_000, () => c.faults.release(resource));
      }
    };
    for (let i = 0; i < 20; i++) c.clock.timer(i * 15_000 + random.next() * 10_000, strike);
  }

  test.each([1, 2, 3, 4, 5, 6, 7, 8])("ends in what was asked for (seed %i)", async (seed) => {
    const managers = 1 + (seed % 2);
    await using c = await cluster({
      ...options,
      seed,
      managers,
      leaderElection: seed % 4 === 1 ? false : managers > 1,
      workloads: true,
    });
    disturb(c);
    await create(c.client, "a", { extra: ["x", "y"] });
    await create(c.client, "b", { extra: ["x", "y"] });
    await c.advance(100_000);
    await change(c.client, "a", { size: 5, extra: ["y", "z"] });
    await c.client.kind(Memcached).delete({ namespace: "default", name: "b" });
    await c.advance(30_000);
    await create(c.client, "b", { size: 1, extra: ["q"] });
    await c.advance(320_000);
    // A silent watch would be noticed in ten minutes; the day is over sooner.
    c.breakWatches();
    await c.converges();
    expect(await replicas(c)).toBe(5);
    expect(await configs(c)).toEqual(["a-y", "a-z", "b-q"]);
  });
});
