/** The runtime on a whole API server: the same suite on the embedded and on the real one. */
import { type Client, createClient } from "@keelson/client";
import { findCondition } from "@keelson/core";
import { ConfigMap, Deployment, Event, Namespace, Secret, Service } from "@keelson/core/kinds";
import {
  controller,
  done,
  fail,
  install,
  type Logger,
  many,
  operator,
  own,
  ref,
  retired,
  silentLogger,
  waiting,
} from "@keelson/runtime";
import { internalsOf } from "@keelson/runtime/internal";
import { cel, immutable, listMap, resource } from "@keelson/schema";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Memcached, memcached } from "./fixtures.ts";
import { type ApiServerUnderTest, eventually, servers } from "./servers.ts";

const Thing = resource({
  group: "test.example.com",
  kind: "Thing",
  version: "v1",
  spec: z.object({ value: z.string().default(""), secret: z.string().optional() }),
  status: z.object({ seen: z.string().optional(), note: z.string().optional() }),
});

const Part = resource({
  group: "test.example.com",
  kind: "Part",
  version: "v1",
  spec: z.object({ value: z.string().max(10).check(immutable()) }),
});

interface Counted {
  readonly client: Client;
  readonly writes: string[];
}

/** The client with a list of the writes that pass through it. */
function counting(client: Client): Counted {
  const writes: string[] = [];
  const http = {
    request: async (request: Parameters<Client["http"]["request"]>[0]) => {
      if (request.method !== "GET") writes.push(`${request.method} ${request.path.split("?")[0]}`);
      return await client.http.request({ ...request, headers: { ...request.headers, ...client.headers } });
    },
  };
  return { client: createClient({ http, fieldManager: "keelson" }), writes };
}

let counter = 0;

for (const choice of servers) {
  const where = `on ${choice.name}${choice.missing ? `: ${choice.missing}` : ""}`;
  describe.skipIf(choice.missing)(where, { timeout: 120_000 }, () => {
    let server: ApiServerUnderTest;
    let namespace: string;

    beforeAll(async () => {
      server = await choice.start();
      await install(server.client, [Memcached, Thing, Part]);
    });
    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
    });

    /** A namespace of its own for each test, and operators that look nowhere else. */
    async function fresh() {
      namespace = `test-${++counter}`;
      await server.client.kind(Namespace).create({ metadata: { name: namespace } });
    }
    async function start(
      controllers: Parameters<typeof operator>[0]["controllers"],
      log: Logger = silentLogger,
    ) {
      const counted = counting(server.client);
      const running = await operator({ controllers, client: counted.client, namespace, log }).start();
      return { running, ...counted, [Symbol.asyncDispose]: () => running.stop() };
    }
    const at = (name: string) => ({ namespace, name });
    const condition = async (name: string, type: string) => {
      const thing = await server.client.kind(Thing).get(at(name));
      return findCondition(thing.status?.conditions, type);
    };

    test("a Memcached becomes a Deployment and a Service, scales, is repaired, pruned and deleted", async () => {
      await fresh();
      await using o = await start([memcached]);
      const { client } = server;
      await client.kind(Memcached).create({ metadata: at("a"), spec: { size: 2, extra: ["x", "y"] } });
      await eventually(async () => {
        const object = await client.kind(Memcached).get(at("a"));
        expect(findCondition(object.status?.conditions, "Ready")).toMatchObject({
          status: "True",
          observedGeneration: 1,
        });
        expect(object.status).toMatchObject({ observedGeneration: 1, configs: 2, readyReplicas: 0 });
        expect(object.status?.inventory?.map(({ slot, key, name }) => [slot, key, name])).toEqual([
          ["deployment", undefined, "a"],
          ["service", undefined, "a"],
          ["configs", "x", "a-x"],
          ["configs", "y", "a-y"],
        ]);
      });
      const deployment = await client.kind(Deployment).get(at("a"));
      expect(deployment.metadata.labels).toEqual({
        "keelson.dev/controller": "memcached",
        "keelson.dev/slot": "deployment",
      });
      expect(deployment.metadata.ownerReferences).toMatchObject([
        { kind: "Memcached", name: "a", controller: true, blockOwnerDeletion: true },
      ]);

      await client
        .kind(Memcached)
        .patch(at("a"), { type: "merge", body: { spec: { size: 4, extra: ["y"] } } });
      await eventually(async () => {
        expect((await client.kind(Deployment).get(at("a"))).spec?.replicas).toBe(4);
        const { items } = await client
          .kind(ConfigMap)
          .list({ namespace, labels: "keelson.dev/controller=memcached" });
        expect(items.map(({ metadata }) => metadata.name)).toEqual(["a-y"]);
      });

      await client.kind(Deployment).patch(at("a"), { type: "merge", body: { spec: { replicas: 1 } } });
      await client.kind(Service).delete(at("a"));
      await eventually(async () => {
        expect((await client.kind(Deployment).get(at("a"))).spec?.replicas).toBe(4);
        expect(await client.kind(Service).find(at("a"))).toBeDefined();
      });

      await eventually(() => expect(internalsOf(o.running).loops[0]?.queue.idle).toBe(true));
      await client.kind(Memcached).delete(at("a"));
      await eventually(async () => expect(await client.kind(Memcached).find(at("a"))).toBeUndefined());
      const before = o.writes.length;
      await eventually(() => expect(internalsOf(o.running).loops[0]?.queue.idle).toBe(true));
      expect(o.writes.length).toBe(before);
    });

    test("100 objects, ten forced resyncs, a restart: no write, as the server counts them", async () => {
      await fresh();
      const { client } = server;
      const written = () =>
        server.writesTo(["memcacheds", "deployments", "services", "configmaps", "events"]);
      {
        await using o = await start([memcached]);
        const names = Array.from({ length: 100 }, (_, i) => `m${i}`);
        await Promise.all(
          names.map((name) => client.kind(Memcached).create({ metadata: at(name), spec: {} })),
        );
        await eventually(async () => {
          const { items } = await client.kind(Memcached).list({ namespace });
          expect(
            items.every((item) => findCondition(item.status?.conditions, "Ready")?.status === "True"),
          ).toBe(true);
          expect(internalsOf(o.running).loops[0]?.queue.idle).toBe(true);
        }, 30_000);
        const before = await written();
        // The objects themselves, their statuses and two children each.
        expect(before).toBeGreaterThanOrEqual(400);
        for (let round = 0; round < 10; round++) {
          internalsOf(o.running).loops[0]?.resync();
          await eventually(() => expect(internalsOf(o.running).loops[0]?.queue.idle).toBe(true));
        }
        expect(await written()).toBe(before);
      }
      const before = await written();
      await using again = await start([memcached]);
      await eventually(() => expect(internalsOf(again.running).loops[0]?.queue.idle).toBe(true));
      expect(again.writes).toEqual([]);
      expect(await written()).toBe(before);
      // Counting at the server sees what it should see.
      await client.kind(Deployment).patch(at("m7"), { type: "merge", body: { spec: { replicas: 9 } } });
      await eventually(async () =>
        expect((await client.kind(Deployment).get(at("m7"))).spec?.replicas).toBe(3),
      );
      expect(await written()).toBe(before + 2);
    });

    test("a change by someone else to a field that is not ours stays, and costs no write", async () => {
      await fresh();
      await using o = await start([memcached]);
      const { client } = server;
      await client.kind(Memcached).create({ metadata: at("a"), spec: {} });
      await eventually(async () => expect(await client.kind(Deployment).find(at("a"))).toBeDefined());
      await eventually(() => expect(internalsOf(o.running).loops[0]?.queue.idle).toBe(true));
      const before = o.writes.length;
      await client.kind(Deployment).patch(at("a"), {
        type: "strategic",
        body: {
          metadata: { annotations: { note: "mine" } },
          spec: { template: { spec: { containers: [{ name: "sidecar", image: "proxy" }] } } },
        },
      });
      internalsOf(o.running).loops[0]?.resync();
      await eventually(() => expect(internalsOf(o.running).loops[0]?.queue.idle).toBe(true));
      await new Promise((resolve) => setTimeout(resolve, 100));
      const deployment = await client.kind(Deployment).get(at("a"));
      expect(deployment.spec?.template.spec?.containers.map(({ name }) => name).sort()).toEqual([
        "memcached",
        "sidecar",
      ]);
      expect(deployment.metadata.annotations?.note).toBe("mine");
      expect(o.writes.slice(before)).toEqual([]);
    });

    test("an object of a child's name that someone else made is never touched, and the condition says what to do", async () => {
      await fresh();
      const { client } = server;
      const thing = controller(Thing, {
        owns: { config: ConfigMap },
        compose: () => ({ children: { config: { data: { ours: "1" } } } }),
      });
      await client.kind(ConfigMap).create({ metadata: at("a"), data: { theirs: "1" } });
      await using o = await start([thing]);
      await client.kind(Thing).create({ metadata: at("a"), spec: {} });
      await eventually(async () => {
        const stalled = await condition("a", "Stalled");
        expect(stalled).toMatchObject({ status: "True", reason: "NotOurs" });
        expect(stalled?.message).toBe(
          `cannot apply ConfigMap ${namespace}/a: it exists and no controller made it; delete it, or hand it over with the annotation keelson.dev/adopt=a`,
        );
      });
      expect((await client.kind(ConfigMap).get(at("a"))).data).toEqual({ theirs: "1" });
      await client
        .kind(ConfigMap)
        .patch(at("a"), { type: "merge", body: { metadata: { annotations: { "keelson.dev/adopt": "a" } } } });
      internalsOf(o.running).loops[0]?.resync();
      await eventually(async () => {
        expect((await client.kind(ConfigMap).get(at("a"))).data).toEqual({ theirs: "1", ours: "1" });
        expect(await condition("a", "Ready")).toMatchObject({ status: "True" });
      });
    });

    test("cleanup runs before the object goes, and a failing cleanup keeps it", async () => {
      await fresh();
      const { client } = server;
      let broken = true;
      const order: string[] = [];
      const thing = controller(Thing, {
        owns: { config: ConfigMap },
        async reconcile(object, ctx) {
          order.push(`reconcile with ${object.metadata.finalizers?.join()}`);
          await ctx.own.config.apply({ data: {} });
          return done();
        },
        async finalize() {
          order.push("finalize");
          if (broken) throw new Error("the disk is full");
          return done();
        },
      });
      await using _o = await start([thing]);
      await client.kind(Thing).create({ metadata: at("a"), spec: {} });
      await eventually(async () => expect(await condition("a", "Ready")).toMatchObject({ status: "True" }));
      expect(order[0]).toBe("reconcile with keelson.dev/thing");
      await client.kind(Thing).delete(at("a"));
      await eventually(async () => {
        expect(await condition("a", "Ready")).toMatchObject({
          status: "False",
          reason: "ReconcileError",
          message: "the disk is full",
        });
      });
      broken = false;
      await eventually(async () => expect(await client.kind(Thing).find(at("a"))).toBeUndefined());
      expect(order.at(-1)).toBe("finalize");
    });

    test("every way in which a reconcile can end shows in the conditions", async () => {
      await fresh();
      const { client } = server;
      const thing = controller(Thing, {
        timeoutMs: 200,
        async reconcile(object, ctx) {
          ctx.setStatus({ seen: object.spec.value });
          switch (object.spec.value) {
            case "done":
              return done();
            case "waiting":
              return waiting("NoQuorum", "two of three members are down");
            case "failed":
              return fail("Downgrade", "version 7 cannot go back to 6");
            case "throw":
              throw new Error("no route to host");
            case "nothing":
              return undefined as never;
            default:
              return await new Promise(() => {});
          }
        },
      });
      await using _o = await start([thing]);
      await client.kind(Thing).create({ metadata: at("a"), spec: { value: "done" } });
      const expectations = {
        done: { Ready: "True", Reconciling: "False", Stalled: "False", reason: "Ready" },
        waiting: { Ready: "False", Reconciling: "True", Stalled: "False", reason: "NoQuorum" },
        failed: { Ready: "False", Reconciling: "False", Stalled: "True", reason: "Downgrade" },
        throw: { Ready: "False", Reconciling: "True", Stalled: "False", reason: "ReconcileError" },
        nothing: { Ready: "False", Reconciling: "True", Stalled: "False", reason: "NoOutcome" },
        never: { Ready: "False", Reconciling: "True", Stalled: "False", reason: "ReconcileTimeout" },
      };
      for (const [value, expected] of Object.entries(expectations)) {
        const { metadata } = await client
          .kind(Thing)
          .patch(at("a"), { type: "merge", body: { spec: { value } } });
        await eventually(async () => {
          const { status } = await client.kind(Thing).get(at("a"));
          const shown = Object.fromEntries(
            (status?.conditions ?? []).map(({ type, status: state }) => [type, state]),
          );
          const { reason, ...states } = expected;
          expect(shown).toEqual(states);
          expect(findCondition(status?.conditions, "Ready")).toMatchObject({
            reason,
            observedGeneration: metadata.generation,
          });
          expect(status?.observedGeneration).toBe(metadata.generation);
          expect(status?.seen).toBe(value);
        });
      }
      const { items } = await client.kind(Event).list({ namespace });
      expect(items.map(({ reason }) => reason)).toContain("Downgrade");
    });

    test("a read brings the object back when what it names appears", async () => {
      await fresh();
      const { client } = server;
      const thing = controller(Thing, {
        reads: {
          secret: ref(Secret, (object) => (object.spec.secret ? { name: object.spec.secret } : undefined)),
        },
        compose: (object, { secret }) => {
          if (!secret) return waiting("SecretMissing", `Secret ${object.spec.secret} does not exist`);
          return { children: {}, status: { seen: Object.keys(secret.data ?? {}).join() } };
        },
      });
      await using _o = await start([thing]);
      await client.kind(Thing).create({ metadata: at("a"), spec: { secret: "s" } });
      await eventually(async () =>
        expect(await condition("a", "Ready")).toMatchObject({ reason: "SecretMissing" }),
      );
      await client.kind(Secret).create({ metadata: at("s"), data: { password: "eA==" } });
      await eventually(async () => {
        expect((await client.kind(Thing).get(at("a"))).status).toMatchObject({ seen: "password" });
        expect(await condition("a", "Ready")).toMatchObject({ status: "True" });
      });
    });

    test("children of a retired slot are deleted, those that outlive the owner stay", async () => {
      await fresh();
      const { client } = server;
      const before = controller(Thing, {
        owns: { old: own(ConfigMap), kept: own(Secret, { outlives: true }) },
        compose: () => ({ children: { old: { data: {} }, kept: { stringData: { a: "b" } } } }),
      });
      const after = controller(Thing, {
        owns: { old: retired(ConfigMap), kept: own(Secret, { outlives: true }), more: many(Service) },
        compose: () => ({ children: { kept: { stringData: { a: "b" } } } }),
      });
      await client.kind(Thing).create({ metadata: at("a"), spec: {} });
      {
        await using _o = await start([before]);
        await eventually(async () => expect(await condition("a", "Ready")).toMatchObject({ status: "True" }));
      }
      const secret = await client.kind(Secret).get(at("a"));
      expect(secret.metadata.ownerReferences).toBeUndefined();
      expect(secret.metadata.labels?.["keelson.dev/owner"]).toBe("a");
      await using _o = await start([after]);
      await eventually(async () => {
        expect(await client.kind(ConfigMap).find(at("a"))).toBeUndefined();
        const { status } = await client.kind(Thing).get(at("a"));
        expect(status?.inventory?.map(({ slot }) => slot)).toEqual(["kept"]);
      });
    });

    test("steps are stored before and after, run once, and are forgotten when nobody asks any more", async () => {
      await fresh();
      const { client } = server;
      const keys: string[] = [];
      let attempts = 0;
      const thing = controller(Thing, {
        async reconcile(object, ctx) {
          if (object.spec.value === "rest") return done();
          const first = await ctx.step("one", async ({ idempotencyKey, resumed }) => {
            keys.push(`${idempotencyKey} ${resumed}`);
            return { answer: 42 };
          });
          const second = await ctx.step("two", async ({ resumed }) => {
            if (++attempts === 1) throw new Error("the connection broke");
            return resumed;
          });
          ctx.setStatus({ seen: `${first.answer} ${second}` });
          return done();
        },
      });
      await using o = await start([thing]);
      await client.kind(Thing).create({ metadata: at("a"), spec: {} });
      await eventually(async () => {
        const { status } = await client.kind(Thing).get(at("a"));
        expect(status?.seen).toBe("42 true");
        expect(status?.steps?.map(({ id, result }) => [id, result])).toEqual([
          ["one", '{"answer":42}'],
          ["two", "true"],
        ]);
      });
      internalsOf(o.running).loops[0]?.resync();
      await eventually(() => expect(internalsOf(o.running).loops[0]?.queue.idle).toBe(true));
      expect(keys).toHaveLength(1);
      expect(attempts).toBe(2);
      await client.kind(Thing).patch(at("a"), { type: "merge", body: { spec: { value: "rest" } } });
      await eventually(async () => {
        const { status } = await client.kind(Thing).get(at("a"));
        expect(status?.steps).toBeUndefined();
        expect(status?.seen).toBe("42 true");
      });
    });

    test("what was not declared is refused by name, and a missing kind by one sentence", async () => {
      await fresh();
      const { client } = server;
      const thing = controller(Thing, {
        async reconcile(_object, ctx) {
          await (ctx.client as unknown as Client).kind(Secret).list({ namespace });
          return done();
        },
      });
      await using _o = await start([thing]);
      await client.kind(Thing).create({ metadata: at("a"), spec: {} });
      await eventually(async () => {
        expect((await condition("a", "Stalled"))?.message).toBe(
          'controller "thing" does not declare "list" on Secret; add allow(Secret, ["list"]) to its writes',
        );
      });
      const Absent = resource({
        group: "nowhere.example.com",
        kind: "Absent",
        version: "v1",
        spec: z.object({}),
      });
      const absent = controller(Absent, { reconcile: async () => done() });
      await expect(start([absent])).rejects.toThrow(
        'controller "absent" needs Absent.nowhere.example.com at nowhere.example.com/v1, which the cluster does not serve; install its CustomResourceDefinition first',
      );
    });

    test("a CRD that the server refuses is told in one sentence, by the names of the author's schema", async () => {
      const refusal = (spec: z.ZodType, kind: string, names = {}) =>
        install(server.client, [
          resource({ group: "refused.example.com", kind, version: "v1", spec, ...names }),
        ]).then(
          () => "it was taken",
          (error: Error) => error.message,
        );
      vi.stubEnv("KUBERNETES_SERVICE_HOST", "left to the server");
      const unparsable = z.object({ size: z.int().check(cel("self.nothing > 1", "too few")) });
      const refused = await refusal(unparsable, "One");
      vi.unstubAllEnvs();
      expect(refused).toBe(
        "cannot install ones.refused.example.com: the server refuses spec.size (rule 1): compilation failed: ERROR: <input>:1:5: type 'int' does not support field selection; correct it in resource({ kind: \"One\" })",
      );
      const keys = listMap(z.object({ name: z.string().optional() }), { keys: ["name"] });
      expect(await refusal(z.object({ ports: keys }), "Two")).toContain(
        "the server refuses spec.ports[].name.default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
      );
      await install(server.client, [
        resource({ group: "refused.example.com", kind: "Three", version: "v1", spec: z.object({}) }),
      ]);
      expect(await refusal(z.object({}), "Four", { shortNames: ["threes"] })).toBe(
        'cannot install fours.refused.example.com: "threes" is already in use; another resource of the group refused.example.com has the name already, so give this one another kind, plural or short name',
      );
    });

    test("an immutable field is a condition, or with recreate a new child that was first found valid", async () => {
      await fresh();
      const { client } = server;
      const stubborn = (recreate: boolean) =>
        controller(Thing, {
          owns: { part: own(Part, { recreate, ready: () => true }) },
          compose: (object) => ({ children: { part: { spec: { value: object.spec.value } } } }),
        });
      {
        await using _o = await start([stubborn(false)]);
        await client.kind(Thing).create({ metadata: at("a"), spec: { value: "one" } });
        await eventually(async () => expect(await condition("a", "Ready")).toMatchObject({ status: "True" }));
        await client.kind(Thing).patch(at("a"), { type: "merge", body: { spec: { value: "two" } } });
        await eventually(async () => {
          const stalled = await condition("a", "Stalled");
          expect(stalled).toMatchObject({ status: "True", reason: "InvalidChild" });
          expect(stalled?.message).toContain("recreate: true");
        });
      }
      const { uid } = (await client.kind(Part).get(at("a"))).metadata;
      await using _o = await start([stubborn(true)]);
      await eventually(async () => {
        const part = await client.kind(Part).get(at("a"));
        expect(part.metadata.uid).not.toBe(uid);
        expect(part.spec.value).toBe("two");
        expect(await condition("a", "Ready")).toMatchObject({ status: "True" });
      });
      await client
        .kind(Thing)
        .patch(at("a"), { type: "merge", body: { spec: { value: "much too long a value" } } });
      const kept = (await client.kind(Part).get(at("a"))).metadata.uid;
      await eventually(async () => {
        expect((await condition("a", "Stalled"))?.message).toContain("the child that runs was left as it is");
      });
      expect((await client.kind(Part).get(at("a"))).metadata.uid).toBe(kept);
    });
  });
}
