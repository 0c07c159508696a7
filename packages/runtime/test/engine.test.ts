/** The engines under virtual time, on the embedded API server, with kinds that need no schema of their own. */
import { type Client, isNotFound } from "@keelson/client";
import {
  ConfigMap,
  Event,
  Job,
  Namespace,
  PersistentVolumeClaim,
  PriorityClass,
  Secret,
  Service,
} from "@keelson/core/kinds";
import {
  all,
  allow,
  controller,
  done,
  fail,
  keep,
  type Logger,
  many,
  ref as named,
  own,
  select,
  silentLogger,
  waiting,
} from "@keelson/runtime";
import { cached, controllerOf, controllerUid, rawController, watch } from "@keelson/runtime/internal";
import { cluster, conflict, everyCrash, serverError } from "@keelson/testing";
import { describe, expect, test } from "vitest";

const ref = { namespace: "default", name: "a" };
const parent = (client: Client, data: Record<string, string> = {}, name = "a") =>
  client
    .kind(ConfigMap)
    .create({ metadata: { namespace: "default", name, labels: { parent: "yes" } }, data });
const edit = (client: Client, data: Record<string, string | null>) =>
  client.kind(ConfigMap).patch(ref, { type: "merge", body: { data } });
const secrets = async (client: Client) =>
  (await client.kind(Secret).list({ labels: "keelson.dev/controller" })).items.map(
    ({ metadata }) => metadata.name,
  );
const labels = "parent=yes";

describe("a write of unknown outcome", () => {
  test("is looked up before anything is decided again, even while the watch is stale", async () => {
    const one = controller(ConfigMap, {
      labels,
      owns: { secrets: many(Secret) },
      async reconcile(_object, ctx) {
        // A decision by counting: it makes a second one unless it sees the first.
        if (ctx.own.secrets.list().length === 0)
          await ctx.own.secrets.apply(ctx.random.uuid(), { stringData: {} });
        return done();
      },
    });
    for (const type of ["lose-answer", "timeout-after-commit"] as const) {
      await using c = await cluster({ controllers: [one] });
      c.faults.hold("secrets");
      c.faults.inject({ on: ({ write, resource }) => write && resource === "secrets", fault: { type } });
      await parent(c.client);
      await c.advance(300_000);
      expect(await secrets(c.client)).toHaveLength(1);
      c.faults.clear();
      await c.converges();
      expect(await secrets(c.client)).toHaveLength(1);
    }
  });

  test("blocks the object for as long as the server cannot be asked", async () => {
    let runs = 0;
    const one = controller(ConfigMap, {
      labels,
      owns: { secrets: many(Secret) },
      async reconcile(_object, ctx) {
        runs++;
        if (ctx.own.secrets.list().length === 0)
          await ctx.own.secrets.apply(ctx.random.uuid(), { stringData: {} });
        return done();
      },
    });
    await using c = await cluster({ controllers: [one] });
    c.faults.hold("secrets");
    c.faults.inject({
      on: ({ write, resource }) => write && resource === "secrets",
      fault: { type: "lose-answer" },
    });
    c.faults.inject({
      on: ({ write, watch: watching, resource }) =>
        !write && !watching && resource === "secrets" && c.clock.monotonic() < 200_000,
      fault: { type: "reset" },
      times: Number.POSITIVE_INFINITY,
    });
    await parent(c.client);
    await c.advance(190_000);
    expect(c.writes.filter(({ resource }) => resource === "secrets")).toHaveLength(1);
    expect(runs).toBe(1);
    await c.advance(600_000);
    expect(runs).toBeGreaterThan(1);
    c.faults.clear();
    await c.converges();
    expect(await secrets(c.client)).toHaveLength(1);
  });
});

describe("a new child", () => {
  const one = controller(ConfigMap, {
    labels,
    owns: { secret: Secret },
    async reconcile(_object, ctx) {
      await ctx.own.secret.apply({ stringData: {} });
      return done();
    },
  });

  test("is made by one request, and nobody is asked before", async () => {
    await using c = await cluster({ controllers: [one] });
    const asked: string[] = [];
    c.faults.inject({
      on: ({ method, path, watch: watching, resource }) => {
        if (resource === "secrets" && !watching) asked.push(`${method} ${path.split("?")[0]}`);
        return false;
      },
      fault: { type: "reset" },
    });
    await parent(c.client);
    await c.converges();
    expect(asked).toEqual(["PATCH /api/v1/namespaces/default/secrets/a"]);
    expect(await secrets(c.client)).toEqual(["a"]);
  });

  test("is not made of what has its name already, not even with equal fields", async () => {
    await using c = await cluster({ controllers: [one] });
    const theirs = await c.client.kind(Secret).create({ metadata: ref });
    await parent(c.client);
    await c.advance(60_000);
    expect((await c.client.kind(Secret).get(ref)).metadata.resourceVersion).toBe(
      theirs.metadata.resourceVersion,
    );
    await c.client.kind(Secret).delete(ref);
    await c.converges();
    expect(await secrets(c.client)).toEqual(["a"]);
  });
});

describe("a composition", () => {
  const composed = controller(ConfigMap, {
    labels,
    owns: { service: Service, secrets: many(Secret), claim: PersistentVolumeClaim },
    compose: (object) => {
      const { names = "", service, claim, kept } = object.data ?? {};
      if (kept === "all") return { children: { service: keep, secrets: keep } };
      return {
        children: {
          ...(service ? { service: { spec: { ports: [{ port: Number(service) }] } } } : {}),
          secrets: {
            ...Object.fromEntries(
              names
                .split(",")
                .filter(Boolean)
                .map((name) => [name, {}]),
            ),
            ...(kept ? { [kept]: keep } : {}),
          },
          ...(claim
            ? {
                claim: {
                  spec: {
                    accessModes: ["ReadWriteOnce" as const],
                    resources: { requests: { storage: "1Gi" } },
                  },
                },
              }
            : {}),
        },
      };
    },
  });

  test("prunes what it leaves out, keeps what it says to keep, and never a claim", async () => {
    await using c = await cluster({ controllers: [composed] });
    await parent(c.client, { names: "x,y,z", service: "80", claim: "yes" });
    await c.converges();
    expect(await secrets(c.client)).toEqual(["a-x", "a-y", "a-z"]);
    await edit(c.client, { kept: "all" });
    await c.converges();
    expect(await secrets(c.client)).toEqual(["a-x", "a-y", "a-z"]);
    expect(await c.client.kind(Service).find(ref)).toBeDefined();
    await edit(c.client, { names: "x", kept: "y", service: null, claim: null });
    await c.converges();
    expect(await secrets(c.client)).toEqual(["a-x", "a-y"]);
    expect(await c.client.kind(Service).find(ref)).toBeUndefined();
    expect(await c.client.kind(PersistentVolumeClaim).find(ref)).toBeDefined();
  });

  test("prunes nothing while one of its children cannot be applied", async () => {
    await using c = await cluster({ controllers: [composed] });
    await parent(c.client, { names: "x,y", service: "80" });
    await c.converges();
    c.faults.inject({
      on: ({ write, resource }) => write && resource === "services",
      fault: conflict(),
      times: Number.POSITIVE_INFINITY,
    });
    await edit(c.client, { names: "x,z", service: "81" });
    await c.advance(60_000);
    expect(await secrets(c.client)).toEqual(["a-x", "a-y", "a-z"]);
    c.faults.clear();
    await c.converges();
    expect(await secrets(c.client)).toEqual(["a-x", "a-z"]);
  });

  test("is not applied to an object that is being deleted", async () => {
    await using c = await cluster({ controllers: [composed] });
    await c.client.kind(ConfigMap).create({
      metadata: { ...ref, labels: { parent: "yes" }, finalizers: ["example.com/hold"] },
      data: { names: "x" },
    });
    await c.converges();
    await c.client.kind(ConfigMap).delete(ref);
    await c.client.kind(Secret).delete({ namespace: "default", name: "a-x" });
    await c.converges();
    expect(await secrets(c.client)).toEqual([]);
  });

  test("sends nothing to a child that is on its way out, and makes a new one when it is gone", async () => {
    await using c = await cluster({ controllers: [composed] });
    await parent(c.client, { service: "80" });
    await c.converges();
    const finalizers = (list: string[]) =>
      c.client.kind(Service).patch(ref, { type: "merge", body: { metadata: { finalizers: list } } });
    await finalizers(["example.com/hold"]);
    await c.client.kind(Service).delete(ref);
    await c.converges();
    const before = c.writes.length;
    await edit(c.client, { service: "81" });
    await c.converges();
    expect(c.writes.slice(before)).toEqual([]);
    await finalizers([]);
    await c.converges();
    expect((await c.client.kind(Service).get(ref)).spec?.ports?.[0]?.port).toBe(81);
  });

  test("never writes into an object that took a child's place unseen", async () => {
    const messages: string[] = [];
    const log: Logger = {
      ...silentLogger,
      warn: (_, fields) => messages.push(String(fields?.["error"])),
      child: () => log,
    };
    await using c = await cluster({ controllers: [composed], log });
    await parent(c.client, { service: "80" });
    await c.converges();
    c.faults.hold("services");
    await c.client.kind(Service).delete(ref);
    await c.client.kind(Service).create({ metadata: ref, spec: { ports: [{ port: 7 }] } });
    await edit(c.client, { service: "81" });
    await c.advance(60_000);
    expect((await c.client.kind(Service).get(ref)).spec?.ports?.[0]?.port).toBe(7);
    expect(messages[0]).toContain(
      "cannot apply Service default/a: the one that was seen is gone and another has its name; it is looked at again",
    );
    expect(messages.at(-1)).toContain("it exists and no controller made it");
    await c.client.kind(Service).delete(ref);
    c.faults.clear();
    await c.converges();
    expect((await c.client.kind(Service).get(ref)).spec?.ports?.[0]?.port).toBe(81);
  });

  test("never deletes an object that took a child's place unseen", async () => {
    await using c = await cluster({ controllers: [composed] });
    await parent(c.client, { service: "80" });
    await c.converges();
    c.faults.hold("services");
    await c.client.kind(Service).delete(ref);
    await c.client.kind(Service).create({ metadata: ref, spec: { ports: [{ port: 7 }] } });
    await edit(c.client, { service: null });
    await c.advance(60_000);
    expect(c.writes.filter(({ method }) => method === "DELETE")).toHaveLength(1);
    c.faults.clear();
    await c.converges();
    expect((await c.client.kind(Service).get(ref)).spec?.ports?.[0]?.port).toBe(7);
  });

  test("of a cluster-scoped owner may reach into many namespaces", async () => {
    const everywhere = controller(PriorityClass, {
      labels,
      owns: { secrets: many(Secret), kept: own(ConfigMap, { outlives: true }) },
      compose: (object) => ({
        children: {
          secrets: Object.fromEntries(
            (object.description ?? "")
              .split(",")
              .map((namespace) => [namespace, { metadata: { namespace, name: "same" } }]),
          ),
          kept: { metadata: { namespace: "default" } },
        },
      }),
    });
    await using c = await cluster({ controllers: [everywhere] });
    for (const name of ["one", "two"]) await c.client.kind(Namespace).create({ metadata: { name } });
    const name = { name: "wide" };
    await c.client
      .kind(PriorityClass)
      .create({ metadata: { ...name, labels: { parent: "yes" } }, value: 1, description: "one,two" });
    await c.converges();
    const places = async () =>
      (await c.client.kind(Secret).list({ labels: "keelson.dev/controller" })).items.map(
        ({ metadata }) => metadata.namespace,
      );
    expect(await places()).toEqual(["one", "two"]);
    await c.client.kind(PriorityClass).patch(name, { type: "merge", body: { description: "two" } });
    await c.client.kind(ConfigMap).delete({ namespace: "default", name: "wide" });
    await c.converges();
    expect(await places()).toEqual(["two"]);
    expect(await c.client.kind(ConfigMap).find({ namespace: "default", name: "wide" })).toBeDefined();
  });

  test("of two slots that make the same object is refused", async () => {
    const clash = controller(ConfigMap, {
      labels,
      owns: { one: own(Secret), two: own(Secret) },
      compose: () => ({ children: { one: {}, two: {} } }),
    });
    const messages: string[] = [];
    const log = {
      debug: () => {},
      info: () => {},
      warn: (_: string, fields?: Readonly<Record<string, unknown>>) => messages.push(String(fields?.error)),
      error: () => {},
      child: () => log,
    };
    await using c = await cluster({ controllers: [clash], log });
    await parent(c.client);
    await c.advance(1_000);
    expect(messages[0]).toContain(
      'slots "one" and "two" both make Secret default/a; give one of them a metadata.name of its own',
    );
    expect(c.writes).toEqual([]);
  });

  test("makes a slot that comes after another when that one is ready", async () => {
    const ordered = controller(ConfigMap, {
      labels,
      owns: {
        init: own(Job),
        service: own(Service, { after: "init" }),
        last: own(Secret, { after: ["service"] }),
      },
      compose: (_object) => ({
        children: {
          last: {},
          service: { spec: { ports: [{ port: 80 }] } },
          init: {
            spec: {
              template: { spec: { restartPolicy: "Never", containers: [{ name: "init", image: "init" }] } },
            },
          },
        },
      }),
    });
    await using c = await cluster({ controllers: [ordered] });
    await parent(c.client);
    await c.advance(60_000);
    const job = await c.client.kind(Job).get(ref);
    expect(await c.client.kind(Service).find(ref)).toBeUndefined();
    const now = "2026-01-01T00:01:00Z";
    const condition = (type: string) => ({
      type,
      status: "True",
      lastTransitionTime: now,
      lastProbeTime: now,
    });
    await c.client
      .kind(Job)
      .subresource("status")
      .update({
        ...job,
        status: {
          startTime: now,
          completionTime: now,
          succeeded: 1,
          conditions: [condition("SuccessCriteriaMet"), condition("Complete")],
        },
      });
    await c.converges();
    expect(await c.client.kind(Service).find(ref)).toBeDefined();
    expect(await secrets(c.client)).toEqual(["a"]);
  });
});

describe("a finalizer", () => {
  const careful = controller(ConfigMap, {
    labels,
    owns: { secret: own(Secret, { outlives: true }) },
    async reconcile(_object, ctx) {
      await ctx.own.secret.apply({ stringData: { key: "value" } });
      return done();
    },
    async finalize(_object, ctx) {
      await ctx.own.secret.delete();
      if (ctx.own.secret.get()) return waiting("Deleting", "the secret is going");
      return done();
    },
  });

  test("is there before anything else is written, and goes last, whenever the manager dies", async () => {
    const { writes } = await everyCrash({ controllers: [careful] }, async (c) => {
      await parent(c.client);
      await c.converges();
      expect(c.writes[0]?.body).toContain("keelson.dev/configmap");
      expect(await secrets(c.client)).toEqual(["a"]);
      await c.client.kind(ConfigMap).delete(ref);
      await c.converges();
      expect(await c.client.kind(ConfigMap).find(ref)).toBeUndefined();
      expect(await secrets(c.client)).toEqual([]);
    });
    expect(writes).toBe(4);
  });

  test("can delete what an orphaned owner of the same name left, and nothing of others", async () => {
    let adopts = true;
    const suffixed = (suffix: string) =>
      own(Secret, { name: ({ metadata }) => `${metadata.name}-${suffix}` });
    const late = controller(ConfigMap, {
      labels,
      owns: { plain: Secret, named: suffixed("named"), taken: suffixed("taken") },
      async reconcile(_object, ctx) {
        if (!adopts) return waiting("Starting", "nothing is adopted yet");
        for (const slot of [ctx.own.plain, ctx.own.named, ctx.own.taken]) await slot.apply({});
        return done();
      },
      async finalize(_object, ctx) {
        if (ctx.orphaned) return done();
        for (const slot of [ctx.own.plain, ctx.own.named, ctx.own.taken]) await slot.delete();
        return done();
      },
    });
    await using c = await cluster({ controllers: [late] });
    await parent(c.client);
    await parent(c.client, {}, "b");
    await c.converges();
    const ofOther = ["b", "b-named", "b-taken"];
    expect(await secrets(c.client)).toEqual(["a", "a-named", "a-taken", ...ofOther]);
    adopts = false;
    await c.client.kind(ConfigMap).delete(ref, { propagation: "Orphan" });
    // What the garbage collector does then: the children lose their owner, and the owner its finalizer.
    const metadata = { ownerReferences: null } as never;
    for (const name of await secrets(c.client))
      await c.client.kind(Secret).patch({ ...ref, name }, { type: "merge", body: { metadata } });
    await c.client.kind(ConfigMap).patch(ref, { type: "merge", body: { metadata: { finalizers: [] } } });

    await parent(c.client);
    await c.advance(1_000);
    const taken = { ...ref, name: "a-taken" };
    await c.client.kind(Secret).delete(taken);
    await c.client.kind(Secret).create({ metadata: taken });
    await c.client.kind(ConfigMap).delete(ref);
    await c.advance(1_000);
    expect(await c.client.kind(ConfigMap).find(ref)).toBeUndefined();
    expect(await secrets(c.client)).toEqual(ofOther);
    expect(await c.client.kind(Secret).find(taken)).toBeDefined();
  });

  test("stays for as long as there is something left to do", async () => {
    let busy = true;
    let runs = 0;
    const slow = controller(ConfigMap, {
      labels,
      reconcile: async () => done(),
      async finalize() {
        runs++;
        return busy ? waiting("Draining", "connections are open", { recheckMs: 60_000 }) : done();
      },
    });
    await using c = await cluster({ controllers: [slow] });
    await parent(c.client);
    await c.converges();
    await c.client.kind(ConfigMap).delete(ref);
    await c.advance(600_000);
    expect(runs).toBeGreaterThanOrEqual(10);
    expect(await c.client.kind(ConfigMap).find(ref)).toBeDefined();
    busy = false;
    await c.converges();
    expect(await c.client.kind(ConfigMap).find(ref)).toBeUndefined();
  });

  test("does not overwrite one that a stale cache does not show", async () => {
    await using c = await cluster({ controllers: [careful], managers: 0 });
    await parent(c.client);
    c.startManager();
    c.faults.inject({
      on: ({ write, resource }) => write && resource === "configmaps",
      fault: { type: "delay", ms: 5_000 },
    });
    await c.settle();
    c.faults.hold("configmaps");
    await c.client
      .kind(ConfigMap)
      .patch(ref, { type: "merge", body: { metadata: { finalizers: ["example.com/theirs"] } } });
    await c.advance(10_000);
    c.faults.clear();
    await c.converges();
    const { finalizers } = (await c.client.kind(ConfigMap).get(ref)).metadata;
    expect(finalizers).toEqual(["example.com/theirs", "keelson.dev/configmap"]);
  });

  test("of someone else is left alone, and an edit in the middle does not lose it", async () => {
    await using c = await cluster({ controllers: [careful] });
    await parent(c.client);
    await c.converges();
    await c.client.kind(ConfigMap).patch(ref, {
      type: "json",
      operations: [{ op: "add", path: "/metadata/finalizers/-", value: "example.com/theirs" }],
    });
    c.faults.hold("configmaps");
    await c.client.kind(ConfigMap).delete(ref);
    c.faults.release("configmaps");
    await c.converges();
    expect((await c.client.kind(ConfigMap).get(ref)).metadata.finalizers).toEqual(["example.com/theirs"]);
  });
});

describe("a reconcile", () => {
  test("that never ends is aborted, and can do nothing any more", async () => {
    let late: Promise<unknown> = Promise.resolve();
    let runs = 0;
    const endless = controller(ConfigMap, {
      labels,
      timeoutMs: 10_000,
      owns: { secret: Secret },
      async reconcile(_object, ctx) {
        if (++runs > 1) return done();
        await new Promise<void>((resolve) => ctx.clock.timer(60_000, resolve));
        late = ctx.own.secret.apply({});
        await late;
        return done();
      },
    });
    await using c = await cluster({ controllers: [endless] });
    await parent(c.client);
    await c.advance(120_000);
    await expect(late).rejects.toThrow("this reconcile is over and can do nothing more");
    await expect(late).rejects.toThrow("did not end within 10 s");
    expect(runs).toBe(2);
    expect(c.writes).toEqual([]);
  });

  test("is called again at the time of its cron expression, and told what was missed", async () => {
    const seen: string[] = [];
    let since = new Date("2026-01-01T00:00:00Z");
    const hourly = controller(ConfigMap, {
      labels,
      async reconcile(_object, ctx) {
        const { due, missed } = ctx.cron("0 * * * *", { since });
        if (due) {
          seen.push(`${due.toISOString().slice(11, 16)} ${missed}`);
          since = due;
        }
        return done();
      },
    });
    await using c = await cluster({ controllers: [hourly] });
    await parent(c.client);
    await c.advance(2.5 * 3_600_000);
    expect(seen).toEqual(["01:00 0", "02:00 0"]);
    c.crash();
    await c.advance(100);
    c.clock.jump(3 * 3_600_000);
    await c.advance(60_000);
    expect(seen.at(-1)).toBe("05:00 2");
  });

  test("that failed for good comes back only when it asked to", async () => {
    const runs = { silent: 0, asking: 0 };
    const stuck = controller(ConfigMap, {
      labels,
      async reconcile({ metadata }, ctx) {
        if (metadata.name === "a") runs.silent++;
        else {
          runs.asking++;
          ctx.recheck(10_000);
        }
        return fail("Refused", "it cannot be");
      },
    });
    await using c = await cluster({ controllers: [stuck] });
    await parent(c.client, {}, "a");
    await parent(c.client, {}, "b");
    await c.advance(5_000);
    const before = { ...runs };
    await c.advance(30_000);
    expect({ silent: runs.silent - before.silent, asking: runs.asking - before.asking }).toEqual({
      silent: 0,
      asking: 3,
    });
  });

  test("that calls itself by what it writes is slowed down", async () => {
    let runs = 0;
    const restless = controller(ConfigMap, {
      labels,
      owns: { secret: Secret },
      async reconcile(_object, ctx) {
        await ctx.own.secret.apply({ stringData: { run: String(++runs) } });
        return done();
      },
    });
    await using c = await cluster({ controllers: [restless] });
    await parent(c.client);
    await c.advance(60_000);
    expect(runs).toBeGreaterThan(100);
    expect(runs).toBeLessThan(345);
    await expect(c.converges({ withinMs: 300_000 })).rejects.toThrow(/nothing came to rest.*last writes/s);
  });

  test("that is busy again and again is not held up by its earlier runs", async () => {
    const ranAtMs: number[] = [];
    const busy = controller(ConfigMap, {
      labels,
      async reconcile(_object, ctx) {
        ranAtMs.push(ctx.clock.monotonic());
        return done();
      },
    });
    await using c = await cluster({ controllers: [busy] });
    await parent(c.client);
    for (let burst = 0; burst < 12; burst++) {
      await c.advance(10_000);
      const begunMs = c.clock.monotonic();
      for (let n = 0; n < 35; n++) {
        await edit(c.client, { n: `${burst}/${n}` });
        await c.advance(1);
      }
      expect(ranAtMs.filter((atMs) => atMs >= begunMs).length).toBeGreaterThanOrEqual(35);
    }
  });

  test("that comes back each second may rush again after a rest", async () => {
    let runs = 0;
    const polling = controller(ConfigMap, {
      labels,
      owns: { secret: Secret },
      async reconcile(_object, ctx) {
        await ctx.own.secret.apply({ stringData: { run: String(Math.min(++runs, 150)) } });
        return done({ recheckMs: 1_000 });
      },
    });
    await using c = await cluster({ controllers: [polling] });
    await parent(c.client);
    await c.advance(200_000);
    const before = runs;
    for (let n = 0; n < 20; n++) {
      await edit(c.client, { n: String(n) });
      await c.advance(20);
    }
    expect(runs - before).toBeGreaterThanOrEqual(20);
  });

  test("that asks to come back at once each time is slowed down", async () => {
    let runs = 0;
    const hasty = controller(ConfigMap, {
      labels,
      async reconcile() {
        runs++;
        return done({ recheckMs: 0 });
      },
    });
    await using c = await cluster({ controllers: [hasty] });
    await parent(c.client);
    await c.advance(60_000);
    expect(runs).toBeLessThan(345);
  });

  test("sees an object gone when it took the last finalizer off, before the watch tells", async () => {
    const seen: unknown[] = [];
    const ending = rawController({
      name: "ending",
      watches: {
        configs: watch(ConfigMap, { labels, keys: () => [] }),
        secrets: watch(Secret, { fields: "metadata.name=end", keys: () => ["default/a"] }),
      },
      writes: [allow(ConfigMap, ["delete", "patch"])],
      async reconcile(key, ctx) {
        if (!ctx.caches.secrets.get("default/end") || !ctx.caches.configs.get(key)) return;
        await ctx.kind(ConfigMap).delete(ref);
        seen.push(ctx.caches.configs.get(key)?.metadata.finalizers);
        await ctx.kind(ConfigMap).patch(ref, { type: "merge", body: { metadata: { finalizers: [] } } });
        seen.push(ctx.caches.configs.get(key));
      },
    });
    await using c = await cluster({ controllers: [ending] });
    const finalizers = ["example.com/hold"];
    await c.client.kind(ConfigMap).create({ metadata: { ...ref, labels: { parent: "yes" }, finalizers } });
    await c.converges();
    c.faults.hold("configmaps");
    await c.client.kind(Secret).create({ metadata: { namespace: "default", name: "end" } });
    await c.advance(1_000);
    expect(seen).toEqual([finalizers, undefined]);
  });

  test("sees a namespace that it deleted for as long as its contents keep it there", async () => {
    const seen: unknown[] = [];
    const name = "ending";
    const ending = rawController({
      name: "ending",
      watches: { namespaces: watch(Namespace, { labels }) },
      writes: [allow(Namespace, ["delete", "patch"])],
      async reconcile(key, ctx) {
        const found = ctx.caches.namespaces.get(key);
        if (!found || found.metadata.deletionTimestamp) return;
        await ctx.kind(Namespace).delete({ name });
        seen.push(ctx.caches.namespaces.get(key)?.status?.phase);
        const body = { metadata: { annotations: { touched: "yes" } } };
        await ctx.kind(Namespace).patch({ name }, { type: "merge", body });
        seen.push(ctx.caches.namespaces.get(key)?.metadata.annotations);
      },
    });
    await using c = await cluster({ controllers: [ending] });
    await c.client.kind(Namespace).create({ metadata: { name, labels: { parent: "yes" } } });
    await c.advance(1_000);
    expect(seen).toEqual(["Terminating", { touched: "yes" }]);
  });

  test("comes back for its own writes and deletes even when their events were lost with the history", async () => {
    const seen: boolean[] = [];
    const self = controller(ConfigMap, {
      labels,
      owns: { secret: Secret },
      async reconcile(object, ctx) {
        seen.push(ctx.own.secret.get() !== undefined);
        if (object.data?.["secret"] === "no") await ctx.own.secret.delete();
        else await ctx.own.secret.apply({});
        return done();
      },
    });
    await using c = await cluster({ controllers: [self] });
    const lose = async (change: () => Promise<unknown>) => {
      c.faults.hold("secrets");
      await change();
      await c.advance(1_000);
      c.loseHistory();
      c.faults.release("secrets");
      await c.advance(60_000);
    };
    await lose(() => parent(c.client));
    expect(seen).toEqual([false, true]);
    await lose(() => edit(c.client, { secret: "no" }));
    expect(seen).toEqual([false, true, true, false]);
  });

  test("tells why it runs: all causes since the last time", async () => {
    const causes: string[][] = [];
    const curious = controller(ConfigMap, {
      labels,
      owns: { secret: Secret },
      async reconcile(_object, ctx) {
        causes.push(ctx.causes.map(({ type, kind, key }) => [type, kind, key].filter(Boolean).join(" ")));
        await ctx.own.secret.apply({});
        return done();
      },
    });
    await using c = await cluster({ controllers: [curious] });
    await parent(c.client);
    await c.converges();
    expect(causes).toEqual([["created ConfigMap default/a"], ["child Secret default/a"], ["resync"]]);
  });

  test("reads what it selects and all of a kind, and runs again when they change", async () => {
    const seen: string[] = [];
    const reader = controller(ConfigMap, {
      labels,
      reads: {
        mine: select(Secret, (object) => ({ labels: { app: object.data?.["app"] ?? "" } })),
        services: all(Service),
      },
      async reconcile(_object, ctx) {
        seen.push(`${ctx.read.mine.map(({ metadata }) => metadata.name).join()}|${ctx.read.services.length}`);
        return done();
      },
    });
    await using c = await cluster({ controllers: [reader] });
    await parent(c.client, { app: "x" });
    await c.settle();
    const secret = (name: string, app: string) =>
      c.client.kind(Secret).create({ metadata: { namespace: "default", name, labels: { app } } });
    await secret("s1", "x");
    await c.settle();
    await secret("s2", "other");
    await c.settle();
    await c.client
      .kind(Secret)
      .patch(
        { namespace: "default", name: "s1" },
        { type: "merge", body: { metadata: { labels: { app: "gone" } } } },
      );
    await c.settle();
    await c.client
      .kind(Service)
      .create({ metadata: { namespace: "default", name: "web" }, spec: { ports: [{ port: 1 }] } });
    await c.settle();
    const [first, ...rest] = seen;
    const services = Number(first?.split("|")[1]);
    expect(rest).toEqual([`s1|${services}`, `|${services}`, `|${services + 1}`]);
  });

  test("reads what it names whole, and of all others of that kind only the metadata", async () => {
    const seen: string[] = [];
    const reader = controller(ConfigMap, {
      labels,
      reads: {
        secret: named(Secret, (object) => (object.data?.["ref"] ? { name: object.data["ref"] } : undefined)),
      },
      async reconcile(_object, ctx) {
        const { secret } = ctx.read;
        seen.push(secret ? `${secret.metadata.name}=${Object.values(secret.data ?? {}).join()}` : "none");
        return done();
      },
    });
    await using c = await cluster({ controllers: [reader] });
    const secret = (name: string, value: string) =>
      c.client.kind(Secret).apply({ metadata: { namespace: "default", name }, data: { value } });
    for (let i = 0; i < 20; i++) await secret(`other-${i}`, "c2VjcmV0");
    await parent(c.client, { ref: "mine" });
    await c.settle();
    await secret("mine", "MQ==");
    await c.settle();
    await secret("mine", "Mg==");
    await secret("other-1", "Mg==");
    await c.settle();
    await edit(c.client, { ref: "other-1" });
    await c.settle();
    await c.client.kind(Secret).delete({ namespace: "default", name: "other-1" });
    await c.settle();
    expect(seen).toEqual(["none", "mine=MQ==", "mine=Mg==", "other-1=Mg==", "none"]);
    const manager = c.managers[0];
    const [followed, ...more] = manager?.informers?.ofKind(Secret) ?? [];
    expect(more).toEqual([]);
    expect(followed?.cache.list().length).toBe(20);
    expect(followed?.cache.list().filter((each) => "data" in each)).toEqual([]);
    const read = c.requests.filter(({ watch, resource }) => !watch && resource === "secrets");
    expect(read.map(({ path }) => path.split("/").at(-1))).toEqual(["mine", "mine", "other-1"]);
    await c.converges();
    expect(c.requests.filter(({ watch, resource }) => !watch && resource === "secrets")).toHaveLength(3);
  });

  test("does not run on a named object that cannot be read, and never takes that for absence", async () => {
    const seen: (string | undefined)[] = [];
    const reader = controller(ConfigMap, {
      labels,
      reads: { secret: named(Secret, () => ({ name: "mine" })) },
      async reconcile(_object, ctx) {
        seen.push(ctx.read.secret?.data?.["value"]);
        return done();
      },
    });
    await using c = await cluster({ controllers: [reader] });
    await c.client
      .kind(Secret)
      .create({ metadata: { namespace: "default", name: "mine" }, data: { value: "MQ==" } });
    c.faults.inject({
      on: ({ write, watch: watching, resource }) => !write && !watching && resource === "secrets",
      fault: serverError(),
      times: 20,
    });
    await parent(c.client);
    await c.advance(600_000);
    expect(seen).toEqual(["MQ=="]);
  });

  test("may record the same event often: people see it once, with a count", async () => {
    const noisy = controller(ConfigMap, {
      labels,
      async reconcile(_object, ctx) {
        ctx.event("Warning", "NoQuorum", "two of three members are down");
        return done({ recheckMs: 10_000 });
      },
    });
    await using c = await cluster({ controllers: [noisy] });
    await parent(c.client);
    await c.advance(300_000);
    const { items } = await c.client.kind(Event).list({ namespace: "default" });
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({
      type: "Warning",
      reason: "NoQuorum",
      involvedObject: { kind: "ConfigMap", name: "a" },
      reportingComponent: "configmap",
    });
    expect(items[0]?.series?.count).toBeGreaterThan(20);
    expect(c.writes.length).toBeLessThan(8);
  });
});

describe("a raw controller", () => {
  test("maps, indexes, sees its own writes, and leaves no mark on what it makes", async () => {
    const counts: number[] = [];
    const maker = rawController({
      name: "maker",
      watches: {
        parents: watch(ConfigMap, { labels }),
        secrets: watch(Secret, { keys: controllerOf(ConfigMap), indexes: { owner: controllerUid } }),
        services: cached(Service),
      },
      writes: [allow(Secret, ["create", "delete"])],
      async reconcile(key, ctx) {
        const object = ctx.caches.parents.get(key);
        if (!object) return;
        const owned = () => ctx.caches.secrets.byIndex("owner", object.metadata.uid);
        const wanted = Number(object.data?.["count"] ?? 0);
        for (let i = owned().length; i < wanted; i++) {
          await ctx.kind(Secret).create({
            metadata: {
              namespace: "default",
              generateName: "made-",
              ownerReferences: [
                {
                  apiVersion: "v1",
                  kind: "ConfigMap",
                  name: object.metadata.name,
                  uid: object.metadata.uid,
                  controller: true,
                },
              ],
            },
          });
          counts.push(owned().length);
        }
        for (const extra of owned().slice(wanted)) {
          await ctx
            .kind(Secret)
            .delete(extra.metadata as { name: string; namespace: string }, { uid: extra.metadata.uid });
          counts.push(owned().length);
        }
      },
    });
    await using c = await cluster({ controllers: [maker] });
    c.faults.hold("secrets");
    await parent(c.client, { count: "3" });
    await c.advance(10_000);
    expect(counts).toEqual([1, 2, 3]);
    await edit(c.client, { count: "1" });
    await c.advance(10_000);
    expect(counts).toEqual([1, 2, 3, 2, 1]);
    c.faults.clear();
    await c.converges();
    const { items } = await c.client.kind(Secret).list();
    expect(items).toHaveLength(1);
    expect(items[0]?.metadata.labels).toBeUndefined();
    const [left] = items;
    await c.client.kind(Secret).delete({ namespace: "default", name: left?.metadata.name ?? "" });
    await c.converges();
    expect((await c.client.kind(Secret).list()).items).toHaveLength(1);
  });

  test("is held to its declaration, by the check and by the generated role", async () => {
    let message = "";
    const greedy = rawController({
      name: "greedy",
      watches: { parents: watch(ConfigMap, { labels }) },
      async reconcile(_key, ctx) {
        await ctx
          .kind(Secret)
          .list()
          .catch((error: Error) => {
            message = error.message;
          });
      },
    });
    await using c = await cluster({ controllers: [greedy] });
    await parent(c.client);
    await c.settle();
    expect(message).toContain('controller "greedy" does not declare "list" on Secret');
    const manager = c.managers[0];
    const refused = await manager?.client
      .kind(Secret)
      .list()
      .catch((error: unknown) => error);
    expect(isNotFound(refused)).toBe(false);
    expect((refused as Error).message).toContain('User "manager-1" cannot list resource "secrets"');
  });
});
