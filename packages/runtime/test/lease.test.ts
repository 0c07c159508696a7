import { apiServer } from "@keelson/apiserver";
import { createClient } from "@keelson/client";
import type { HttpPort, HttpRequest } from "@keelson/core";
import { SeededRandom, VirtualClock } from "@keelson/testing/clock";
import { describe, expect, test } from "vitest";
import { fenced, SharedFence } from "../src/leader/fence.ts";
import { Lease, LeaseElector, leaseTimings } from "../src/leader/lease.ts";
import { silentLogger } from "../src/log/logger.ts";

const ref = { namespace: "default", name: "election" };

/** What happens to a request: it is late by some milliseconds, or its connection breaks before or after the commit. */
type Disturbance = undefined | number | "reset" | "lose-answer";

async function setup(seed = 1) {
  let inFlight = 0;
  const clock = new VirtualClock({ busy: () => inFlight > 0 });
  const random = new SeededRandom(seed);
  const server = await apiServer({ clock, random });
  const timings = leaseTimings();
  const candidate = (identity: string) => {
    const wire = {
      up: true,
      frozen: false,
      disturb: (_request: HttpRequest): Disturbance => undefined,
      /** How late the watch is with each event. */
      lagMs: () => 0,
    };
    const http: HttpPort = {
      request: async (request) => {
        if (wire.frozen) return await new Promise(() => {});
        if (!wire.up) throw new Error("the network is down");
        const disturbance = request.streaming ? undefined : wire.disturb(request);
        if (typeof disturbance === "number") {
          await new Promise<void>((resolve) => clock.timer(disturbance, resolve));
        }
        if (disturbance === "reset") throw new Error("reset before");
        inFlight++;
        try {
          const response = await server.http.request(request);
          if (disturbance === "lose-answer") throw new Error("reset after");
          return request.streaming ? { ...response, body: lagging(response.body, wire.lagMs) } : response;
        } finally {
          inFlight--;
        }
      },
    };
    async function* lagging(body: AsyncIterable<Uint8Array>, lagMs: () => number) {
      for await (const chunk of body) {
        const ms = lagMs();
        if (ms > 0) await new Promise<void>((resolve) => clock.timer(ms, resolve));
        yield chunk;
      }
    }
    const client = createClient({ http, clock, random: random.fork(identity) });
    const fence = new SharedFence(clock);
    const elector = new LeaseElector({
      client,
      clock,
      random: random.fork(`${identity}/lease`),
      ...ref,
      identity,
      timings,
      fence,
      log: silentLogger,
    });
    return { elector, fence, wire, client };
  };
  const admin = createClient({ http: server.http, clock, random });
  const lease = async () => (await admin.kind(Lease).get(ref)) as { spec?: Record<string, unknown> };
  return { clock, random, candidate, admin, lease, timings };
}

describe("leader election", () => {
  test("of two that start at once one leads, and the times are MicroTime", async () => {
    const { clock, candidate, lease } = await setup();
    const a = candidate("a");
    const b = candidate("b");
    a.elector.run();
    b.elector.run();
    await clock.advance(60_000);
    expect([a.elector.leading, b.elector.leading].filter(Boolean)).toHaveLength(1);
    const { spec } = await lease();
    expect(spec?.renewTime).toMatch(/\.\d{6}Z$/);
    expect(spec?.acquireTime).toMatch(/\.\d{6}Z$/);
    expect(spec?.leaseDurationSeconds).toBe(24);
    expect(spec?.holderIdentity).toBe(a.elector.leading ? "a" : "b");
  });

  test("a lease that is given back is taken at once, without polling", async () => {
    const { clock, candidate, lease } = await setup();
    const a = candidate("a");
    a.elector.run();
    await clock.advance(1_000);
    const b = candidate("b");
    b.elector.run();
    await clock.advance(10_000);
    expect(a.elector.leading).toBe(true);
    await clock.run(a.elector.stop());
    expect(a.fence.mayWrite()).toBe(false);
    await clock.advance(300);
    expect(b.elector.leading).toBe(true);
    expect((await lease()).spec?.leaseTransitions).toBe(1);
  });

  test("a leader that dies is followed when its lease has run out, not before", async () => {
    const { clock, candidate, timings } = await setup();
    const a = candidate("a");
    a.elector.run();
    await clock.advance(1_000);
    const b = candidate("b");
    b.elector.run();
    await clock.advance(10_000);
    a.wire.frozen = true;
    await clock.advance(timings.leaseMs - timings.renewEveryMs - 100);
    expect(b.elector.leading).toBe(false);
    await clock.advance(timings.renewEveryMs + 3_000);
    expect(b.elector.leading).toBe(true);
  });

  test("a leader that cannot renew stops writing well before another begins", async () => {
    const { clock, candidate, timings } = await setup();
    const a = candidate("a");
    const b = candidate("b");
    a.elector.run();
    await clock.advance(1_000);
    b.elector.run();
    await clock.advance(10_000);
    a.wire.up = false;
    let silentAt = 0;
    let ledAt = 0;
    for (let i = 0; i < 400 && ledAt === 0; i++) {
      await clock.advance(100);
      if (silentAt === 0 && !a.fence.mayWrite()) silentAt = clock.monotonic();
      if (b.elector.leading) ledAt = clock.monotonic();
      expect(a.fence.mayWrite() && b.fence.mayWrite()).toBe(false);
    }
    expect(ledAt - silentAt).toBeGreaterThanOrEqual(timings.writeTimeoutMs - 100);
    expect((await a.elector.lost).message).toContain("it could not be renewed in time");
  });

  test("a follower that is cut off from the watch does not take a lease that is being renewed", async () => {
    const { clock, candidate } = await setup();
    const a = candidate("a");
    const b = candidate("b");
    a.elector.run();
    await clock.advance(1_000);
    b.elector.run();
    await clock.advance(5_000);
    b.wire.up = false;
    await clock.advance(60_000);
    b.wire.up = true;
    await clock.advance(60_000);
    expect(a.elector.leading).toBe(true);
    expect(b.elector.leading).toBe(false);
  });

  test("a leader that finds another's name in the lease stops at once", async () => {
    const { clock, candidate, admin, lease } = await setup();
    const a = candidate("a");
    a.elector.run();
    await clock.advance(1_000);
    const current = await lease();
    const spec = { ...current.spec, holderIdentity: "thief", leaseTransitions: 7 };
    await admin.kind(Lease).update({ ...current, spec } as never);
    await clock.settle();
    expect(a.fence.mayWrite()).toBe(false);
    expect((await a.elector.lost).message).toContain("thief took it over");
  });

  test("a deleted lease is made again by its holder", async () => {
    const { clock, candidate, admin, lease } = await setup();
    const a = candidate("a");
    a.elector.run();
    await clock.advance(1_000);
    await admin.kind(Lease).delete(ref);
    await clock.advance(5_000);
    expect(a.elector.leading).toBe(true);
    expect((await lease()).spec?.holderIdentity).toBe("a");
  });

  test("a lease that is deleted while it is held is not taken before its time is over", async () => {
    const { clock, candidate, admin, lease } = await setup();
    const [a, b] = [candidate("a"), candidate("b")];
    a.elector.run();
    await clock.advance(1_000);
    b.elector.run();
    await clock.advance(10_000);
    // The holder hears of it late, and its next renewal takes a while: nobody may lead beside it.
    a.wire.lagMs = () => 2_000;
    a.wire.disturb = () => 1_000;
    await admin.kind(Lease).delete(ref);
    for (let i = 0; i < 400; i++) {
      await clock.advance(100);
      expect(a.fence.mayWrite() && b.fence.mayWrite()).toBe(false);
    }
    expect(a.elector.leading).toBe(true);
    expect((await lease()).spec?.holderIdentity).toBe("a");
  });

  test("a lease that is deleted after its holder died is taken when its time is over", async () => {
    const { clock, candidate, admin, timings } = await setup();
    const [a, b] = [candidate("a"), candidate("b")];
    a.elector.run();
    await clock.advance(1_000);
    b.elector.run();
    await clock.advance(10_000);
    a.wire.frozen = true;
    await admin.kind(Lease).delete(ref);
    await clock.advance(timings.leaseMs - timings.renewEveryMs - 100);
    expect(b.elector.leading).toBe(false);
    await clock.advance(timings.renewEveryMs + 3_000);
    expect(b.elector.leading).toBe(true);
  });

  test("a follower whose look at the lease came late does not take it from one who was faster", async () => {
    const { clock, candidate } = await setup();
    const a = candidate("a");
    const b = candidate("b");
    b.wire.disturb = ({ method, path }) => (method === "GET" && path.includes("/leases/") ? 500 : undefined);
    a.wire.lagMs = () => 5_000;
    b.elector.run();
    await clock.advance(200);
    a.elector.run();
    await clock.advance(2_000);
    expect([a, b].filter(({ fence }) => fence.mayWrite())).toHaveLength(1);
    expect(a.elector.leading).toBe(true);
    expect(b.elector.leading).toBe(false);
  });

  test("a leader whose own answer was lost notices and leads", async () => {
    const { clock, candidate } = await setup();
    const a = candidate("a");
    let lost = 0;
    a.wire.disturb = () => (++lost === 3 ? "lose-answer" : undefined);
    a.elector.run();
    await clock.advance(10_000);
    expect(a.elector.leading).toBe(true);
  });

  test.each(Array.from({ length: 40 }, (_, i) => i + 1))(
    "whatever the network does, at most one may write at any time, and in the end one does (seed %i)",
    async (seed) => {
      const { clock, random, candidate } = await setup(seed);
      const chance = random.fork("chaos");
      const disturb = (): Disturbance => {
        const roll = chance.next();
        if (clock.monotonic() > 240_000 || roll > 0.5) return undefined;
        return roll < 0.15 ? "reset" : roll < 0.3 ? "lose-answer" : chance.next() * 8_000;
      };
      const alive: ReturnType<typeof candidate>[] = [];
      const all: ReturnType<typeof candidate>[] = [];
      const join = () => {
        const one = candidate(`c${all.length}`);
        one.wire.disturb = disturb;
        one.wire.lagMs = () => (clock.monotonic() > 240_000 ? 0 : chance.next() * 6_000);
        one.elector.run();
        alive.push(one);
        all.push(one);
        void one.elector.lost.then(() => leave(one));
      };
      const leave = (one: ReturnType<typeof candidate>) => {
        if (alive.includes(one)) alive.splice(alive.indexOf(one), 1);
      };
      for (let i = 0; i < 3; i++) join();
      let writableFor = 0;
      for (let i = 0; i < 3_600; i++) {
        await clock.advance(100);
        const writers = all.filter(({ fence }) => fence.mayWrite());
        expect(writers.length).toBeLessThanOrEqual(1);
        if (writers.length === 1) writableFor++;
        if (clock.monotonic() < 240_000) {
          const roll = chance.next();
          const victim = alive[Math.floor(chance.next() * alive.length)];
          if (roll < 0.004 && victim) {
            leave(victim);
            if (roll < 0.002) victim.wire.frozen = true;
            else void victim.elector.stop();
          } else if (roll < 0.012 && victim) victim.wire.up = !victim.wire.up;
          if (alive.length < 3 || roll > 0.997) join();
        } else for (const one of all) one.wire.up = true;
      }
      expect(all.filter(({ fence }) => fence.mayWrite())).toHaveLength(1);
      expect(writableFor).toBeGreaterThan(600);
    },
  );

  test("the fence falls by the clock alone, for a process that is too busy to notice", async () => {
    const { clock, candidate, timings } = await setup();
    const { elector, fence } = candidate("a");
    elector.run();
    await clock.advance(1_000);
    const ahead = (ms: number) =>
      new SharedFence({ now: () => clock.now() + ms, monotonic: () => clock.monotonic() + ms }, fence.buffer);
    expect(ahead(timings.renewDeadlineMs / 2).mayWrite()).toBe(true);
    expect(ahead(timings.renewDeadlineMs).mayWrite()).toBe(false);
  });

  test("timings that let two write at once are refused with the reason", () => {
    expect(() => leaseTimings({ renewDeadlineMs: 20_000 })).toThrow(
      "renewDeadlineMs + writeTimeoutMs (20000 + 10000) must be less than leaseMs (24000)",
    );
    expect(() => leaseTimings({ renewEveryMs: 11_000 })).toThrow("must leave room for two tries");
  });
});

describe("the fence", () => {
  test("lets reads pass and stops writes at the wire, retries included", async () => {
    const { clock, candidate } = await setup();
    const { client, fence } = candidate("a");
    const guarded = fenced(client, { fence });
    const object = { metadata: { name: "x", namespace: "default" }, spec: {} };
    await expect(clock.run(guarded.kind(Lease).create(object))).rejects.toThrow("this process does not lead");
    expect((await guarded.kind(Lease).list()).items).toHaveLength(0);
    fence.allowUntil(clock.monotonic() + 1_000, clock.now() + 1_000);
    await guarded.kind(Lease).create(object);
    await clock.advance(1_000);
    await expect(clock.run(guarded.kind(Lease).delete({ namespace: "default", name: "x" }))).rejects.toThrow(
      "does not lead",
    );
  });

  test("stops a write that waited for its connection while the process was frozen", async () => {
    const { clock, candidate } = await setup();
    const { fence } = candidate("a");
    const sent: string[] = [];
    const http: HttpPort = {
      request: async ({ method, check }) => {
        fence.close();
        check?.();
        sent.push(method);
        return { status: 200, headers: {}, body: (async function* () {})() };
      },
    };
    const guarded = fenced(createClient({ http, clock, retries: 0 }), { fence });
    fence.allowUntil(clock.monotonic() + 1_000, clock.now() + 1_000);
    await expect(clock.run(guarded.kind(Lease).delete(ref))).rejects.toThrow("this process does not lead");
    expect(sent).toEqual([]);
  });

  test("stops what leaves HTTP too: an exec begins with a GET", async () => {
    /** Like the transport, it knows itself by `this`. */
    class Port implements HttpPort {
      readonly #said = "the server was asked";
      async request() {
        return { status: 200, headers: {}, body: (async function* () {})() };
      }
      async upgrade(): Promise<never> {
        throw new Error(this.#said);
      }
    }
    let open = true;
    const gated = fenced(createClient({ http: new Port() }), { fence: { mayWrite: () => open } });
    const exec = { method: "GET", path: "/api/v1/namespaces/default/pods/a/exec?command=rm" };
    await expect(gated.http.upgrade?.(exec)).rejects.toThrow("the server was asked");
    open = false;
    await expect(gated.http.upgrade?.(exec)).rejects.toThrow(
      "GET /api/v1/namespaces/default/pods/a/exec was not sent: this process does not lead",
    );
  });

  test("falls when either clock says so", async () => {
    const clock = new VirtualClock();
    const fence = new SharedFence(clock);
    fence.allowUntil(clock.monotonic() + 1_000, clock.now() + 1_000);
    expect(fence.mayWrite()).toBe(true);
    clock.jump(5_000);
    expect(fence.mayWrite()).toBe(false);
  });

  test("gives a write up whose answer does not come within the time that the lease leaves", async () => {
    const { clock, candidate } = await setup();
    const { client, fence, wire } = candidate("a");
    fence.allowUntil(clock.monotonic() + 60_000, clock.now() + 60_000);
    const guarded = fenced(client, { fence, writeTimeoutMs: 10_000 });
    wire.frozen = true;
    const startedAt = clock.monotonic();
    await expect(
      clock.run(guarded.kind(Lease).create({ metadata: { name: "x", namespace: "default" } })),
    ).rejects.toMatchObject({ code: "OutcomeUnknown" });
    expect(clock.monotonic() - startedAt).toBe(10_000);
  });

  test("gives a write up that was sent past the verbs, too", async () => {
    const { clock, candidate } = await setup();
    const { client, fence, wire } = candidate("a");
    fence.allowUntil(clock.monotonic() + 60_000, clock.now() + 60_000);
    const { http } = fenced(client, { fence, writeTimeoutMs: 10_000 });
    wire.frozen = true;
    const startedAt = clock.monotonic();
    const path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/x";
    await expect(clock.run(http.request({ method: "DELETE", path }))).rejects.toMatchObject({
      code: "ConnectionLost",
    });
    expect(clock.monotonic() - startedAt).toBe(10_000);
  });
});
