/** CompositeControllers on the embedded API server, with hooks on loopback. */
import type { JsonObject, Stored } from "@keelson/core";
import { ConfigMap, Namespace, Secret } from "@keelson/core/kinds";
import { type Cluster, cluster, everyCrash } from "@keelson/testing";
import { describe, expect, test } from "vitest";
import { ControllerRevision } from "../src/index.ts";
import { decideRollout } from "../src/rolling/rollout.ts";
import { type Answer, type Asked, type HookServer, hookServer } from "./hook-server.ts";
import { ClusterThing, composite, controllersFor, map, Thing } from "./things.ts";

const here = (name: string) => ({ namespace: "default", name });
const selector = { matchLabels: { thing: "one" } };

async function world(server: HookServer, spec: JsonObject = {}): Promise<Cluster> {
  return await cluster({
    controllers: await controllersFor(server, composite(server, spec)),
    resources: [Thing, ClusterThing, ControllerRevision],
    busy: server.busy,
  });
}

async function thing(c: Cluster, spec: JsonObject = {}): Promise<void> {
  await c.client.kind(Thing).create(Thing.object({ metadata: here("one"), spec: { selector, ...spec } }));
}

/** What the hook is asked for, as maps. */
const children = ({ body }: Asked) => body["children"] as unknown as Record<string, Record<string, Stored>>;
const textOf = ({ body }: Asked) => (body["parent"] as { spec: { text?: string } }).spec.text ?? "";

describe("a parent", () => {
  test("gets the children and the status that its hook answers with, and nothing more when idle", async () => {
    await using server = await hookServer({
      "/sync": (asked) => ({
        status: { children: Object.keys(children(asked)["ConfigMap.v1"] ?? {}).length },
        children: [map("a", { text: textOf(asked) }), map("b", { text: "b" })],
      }),
    });
    await using c = await world(server);
    await thing(c, { text: "first" });
    await c.converges();
    const made = await c.client.kind(ConfigMap).get(here("a"));
    expect(made.data).toEqual({ text: "first" });
    expect(made.metadata.ownerReferences).toMatchObject([{ kind: "Thing", name: "one", controller: true }]);
    const parent = await c.client.kind(Thing).get(here("one"));
    expect(parent.status).toMatchObject({ children: 2, observedGeneration: 1 });

    const asked = server.asked.at(-1) as Asked;
    expect(Object.keys(asked.body)).toEqual(["controller", "parent", "children", "related", "finalizing"]);
    expect(asked.body["finalizing"]).toBe(false);
    expect(asked.body["related"]).toEqual({});
    expect(Object.keys(children(asked))).toEqual(["ConfigMap.v1"]);
    expect(Object.keys(children(asked)["ConfigMap.v1"] ?? {})).toEqual(["a", "b"]);
    expect(asked.body["controller"]).toMatchObject({
      kind: "CompositeController",
      metadata: { name: "things" },
    });

    await c.client.kind(Thing).patch(here("one"), { type: "merge", body: { spec: { text: "second" } } });
    await c.converges();
    expect((await c.client.kind(ConfigMap).get(here("a"))).data).toEqual({ text: "second" });
    server.hooks["/sync"] = () => ({ children: [map("b", { text: "b" })] });
    await c.client.kind(Thing).patch(here("one"), { type: "merge", body: { spec: { text: "third" } } });
    await c.converges();
    expect(await c.client.kind(ConfigMap).find(here("a"))).toBeUndefined();
    expect(c.forbidden).toEqual([]);
  });

  test("has what others changed in its children put back, and what they added left alone", async () => {
    await using server = await hookServer({ "/sync": () => ({ children: [map("a", { ours: "1" })] }) });
    await using c = await world(server);
    await thing(c);
    await c.converges();
    const theirs = { data: { ours: "drifted", theirs: "2" } };
    await c.client.kind(ConfigMap).patch(here("a"), { type: "merge", body: theirs });
    await c.converges();
    expect((await c.client.kind(ConfigMap).get(here("a"))).data).toEqual({ ours: "1", theirs: "2" });
    await c.client.kind(ConfigMap).delete(here("a"));
    await c.converges();
    expect((await c.client.kind(ConfigMap).get(here("a"))).data).toEqual({ ours: "1" });
  });

  test("is finalized by its hook, step by step, before it goes", async () => {
    const names = (asked: Asked) => Object.keys(children(asked)["ConfigMap.v1"] ?? {});
    await using server = await hookServer({
      "/sync": () => ({ children: ["a", "b", "c"].map((name) => map(name, {})) }),
      "/finalize": (asked) => ({
        children: names(asked)
          .slice(0, -1)
          .map((name) => map(name, {})),
        finalized: names(asked).length === 0,
      }),
    });
    const hooks = {
      sync: { webhook: { url: `${server.url}/sync` } },
      finalize: { webhook: { url: `${server.url}/finalize` } },
    };
    await using c = await world(server, { hooks });
    await thing(c);
    await c.converges();
    const parent = await c.client.kind(Thing).get(here("one"));
    expect(parent.metadata.finalizers).toEqual(["metacontroller.io/compositecontroller-things"]);
    await c.client.kind(Thing).delete(here("one"));
    await c.until(async () => (await c.client.kind(Thing).find(here("one"))) === undefined);
    expect(
      (await c.client.kind(ConfigMap).list({ namespace: "default", labels: "thing=one" })).items,
    ).toEqual([]);
    const asked = server.asked.filter(({ path }) => path === "/finalize").map(names);
    expect(asked.map(({ length }) => length)).toEqual([3, 2, 1, 0]);
  });

  test("adopts what its selector finds, releases what it no longer finds, and leaves the rest", async () => {
    await using server = await hookServer({ "/sync": () => ({ children: [map("a", { a: "1" })] }) });
    await using c = await world(server);
    const labels = selector.matchLabels;
    await c.client.kind(ConfigMap).create({ metadata: { ...here("a"), labels }, data: { a: "old", b: "2" } });
    await c.client.kind(ConfigMap).create({ metadata: { ...here("extra"), labels } });
    await c.client.kind(ConfigMap).create({ metadata: here("other") });
    await thing(c);
    await c.converges();
    expect((await c.client.kind(ConfigMap).get(here("a"))).data).toEqual({ a: "1", b: "2" });
    // Adopted and not wanted: it goes, as Metacontroller says.
    expect(await c.client.kind(ConfigMap).find(here("extra"))).toBeUndefined();
    expect(await c.client.kind(ConfigMap).find(here("other"))).toBeDefined();

    await c.client.kind(ConfigMap).create({ metadata: { ...here("late"), labels } });
    await c.converges();
    expect(await c.client.kind(ConfigMap).find(here("late"))).toBeUndefined();

    await c.client
      .kind(ConfigMap)
      .patch(here("a"), { type: "merge", body: { metadata: { labels: { thing: "no" } } } });
    await c.advance(10_000);
    const released = await c.client.kind(ConfigMap).get(here("a"));
    expect(released.metadata.ownerReferences ?? []).toEqual([]);
    expect(server.asked.at(-1) && children(server.asked.at(-1) as Asked)["ConfigMap.v1"]).toEqual({});
  });

  test("finds its children by a generated selector, and in many namespaces when it has none", async () => {
    await using server = await hookServer({
      "/sync": () => ({
        children: ["default", "kube-system"].map((namespace) => ({
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "made", namespace },
        })),
      }),
    });
    const parentResource = { apiVersion: "example.com/v1", resource: "clusterthings" };
    await using c = await world(server, { parentResource, generateSelector: true });
    await c.client.kind(ClusterThing).create(ClusterThing.object({ metadata: { name: "wide" }, spec: {} }));
    await c.converges();
    const { metadata } = await c.client.kind(ConfigMap).get({ namespace: "kube-system", name: "made" });
    const parent = await c.client.kind(ClusterThing).get({ name: "wide" });
    expect(metadata.labels).toEqual({ "controller-uid": parent.metadata.uid });
    const keys = Object.keys(children(server.asked.at(-1) as Asked)["ConfigMap.v1"] ?? {});
    expect(keys.sort()).toEqual(["default/made", "kube-system/made"]);
  });

  test("is left consistent, whenever the manager dies", async () => {
    await using server = await hookServer({
      "/sync": (asked) => ({
        status: { text: textOf(asked) },
        children: [map("a", { text: textOf(asked) }), ...(textOf(asked) === "two" ? [] : [map("b", {})])],
      }),
      "/finalize": (asked) => ({
        finalized: Object.keys(children(asked)["ConfigMap.v1"] ?? {}).length === 0,
      }),
    });
    const hooks = {
      sync: { webhook: { url: `${server.url}/sync` } },
      finalize: { webhook: { url: `${server.url}/finalize` } },
    };
    const controllers = await controllersFor(server, composite(server, { hooks }));
    const report = await everyCrash({ controllers, resources: [Thing], busy: server.busy }, async (c) => {
      await thing(c, { text: "one" });
      await c.converges();
      await c.client.kind(Thing).patch(here("one"), { type: "merge", body: { spec: { text: "two" } } });
      await c.converges();
      expect((await c.client.kind(ConfigMap).get(here("a"))).data).toEqual({ text: "two" });
      expect(await c.client.kind(ConfigMap).find(here("b"))).toBeUndefined();
      expect((await c.client.kind(Thing).get(here("one"))).status?.text).toBe("two");
      await c.client.kind(Thing).delete(here("one"));
      await c.until(async () => (await c.client.kind(Thing).find(here("one"))) === undefined);
    });
    expect(report.writes).toBeGreaterThan(8);
  }, 120_000);
});

describe("a hook that does not behave", () => {
  const foreign = {
    ...map("a", {}),
    metadata: { name: "a", namespace: "kube-system", labels: selector.matchLabels },
  };
  const cases: [name: string, answer: () => Answer, says: RegExp][] = [
    ["fails", () => ({ code: 500, text: "oops" }), /answered with 500: oops/],
    ["answers with no JSON", () => ({ code: 200, text: "<html>" }), /answered with no JSON: <html>/],
    ["answers with a list", () => ({ code: 200, text: "[]" }), /answered with no JSON object/],
    [
      "answers with children that are no list",
      () => ({ children: {} }),
      /children \{\}, which must be a list/,
    ],
    [
      "asks for a foreign namespace",
      () => ({ children: [foreign] }),
      /in namespace kube-system, and its parent is in default/,
    ],
    [
      "asks for a kind that is not declared",
      () => ({ children: [{ apiVersion: "v1", kind: "Secret", metadata: { name: "a" } }] }),
      /asks for a Secret of v1, which spec.childResources does not name/,
    ],
    [
      "asks for a child without a name",
      () => ({ children: [{ apiVersion: "v1", kind: "ConfigMap" }] }),
      /without metadata.name/,
    ],
    [
      "asks for a child twice",
      () => ({ children: [map("a", {}), map("a", {})] }),
      /asks for ConfigMap default\/a twice/,
    ],
    [
      "asks for a child that the selector does not find",
      () => ({ children: [map("a", {}, { labels: {} })] }),
      /spec.selector does not match/,
    ],
    [
      "answers with too much",
      () => ({ code: 200, text: `{"status":{"text":"${"x".repeat(2_000)}"}}` }),
      /larger than 1000 bytes/,
    ],
  ];

  test.each(cases)(
    "that %s is told of by an event and called again with backoff",
    async (_name, answer, says) => {
      await using server = await hookServer({ "/sync": answer });
      const controllers = await controllersFor(server, composite(server), { maxAnswerBytes: 1_000 });
      await using c = await cluster({ controllers, resources: [Thing], busy: server.busy });
      await thing(c);
      await c.advance(600_000);
      expect(
        (await c.client.kind(ConfigMap).list({ namespace: "default", labels: "thing=one" })).items,
      ).toEqual([]);
      const events = await eventsOf(c);
      expect(events).toMatchObject([{ reason: "SyncError", type: "Warning" }]);
      expect(events[0]?.["note"]).toMatch(says);
      // From 250 ms to 20 s: about three dozen calls in ten minutes.
      expect(server.asked.length).toBeGreaterThan(20);
      expect(server.asked.length).toBeLessThan(50);
      server.hooks["/sync"] = () => ({ children: [map("a", {})] });
      await c.converges();
      expect(await c.client.kind(ConfigMap).find(here("a"))).toBeDefined();
    },
  );

  test("that hangs is given up in time, and asked again later", async () => {
    await using server = await hookServer({ "/hang": () => undefined });
    const hooks = { sync: { webhook: { url: `${server.url}/hang`, timeout: "3s" } } };
    await using c = await world(server, { hooks });
    await thing(c);
    await c.until(async () => (await eventsOf(c)).length === 1, 20_000);
    expect((await eventsOf(c))[0]?.["note"]).toMatch(/did not answer within 3 s/);
    expect(server.asked.length).toBeLessThan(5);
  });

  test("that says it is busy is called when it asked to be", async () => {
    const at: number[] = [];
    await using server = await hookServer({
      "/sync": () => {
        at.push(c.clock.monotonic());
        return at.length === 1 ? { code: 429, text: "", headers: { "retry-after": "70" } } : { children: [] };
      },
    });
    await using c = await world(server);
    await thing(c);
    await c.until(() => at.length >= 2);
    expect(Math.round(((at[1] as number) - (at[0] as number)) / 1_000)).toBe(70);
    expect(await eventsOf(c)).toEqual([]);
  });

  test("that asks for something else each time is slowed down", async () => {
    let calls = 0;
    await using server = await hookServer({
      "/sync": () => ({ children: [map("a", { count: String(++calls) })] }),
    });
    await using c = await world(server);
    await thing(c);
    await c.advance(60_000);
    expect(calls).toBeLessThan(345);
  });

  test("that is remembered by its ETag is not asked to say the same again", async () => {
    const texts: number[] = [];
    await using server = await hookServer({
      "/sync": ({ headers }) => {
        const known = headers["if-none-match"] === '"one"';
        texts.push(known ? 412 : 200);
        const text = JSON.stringify({ children: [map("a", { a: "1" })] });
        return known ? { code: 412, text: "" } : { code: 200, text, headers: { etag: '"one"' } };
      },
    });
    const webhook = { url: `${server.url}/sync`, etag: { enabled: true, cacheTimeoutSeconds: 60 } };
    await using c = await world(server, { hooks: { sync: { webhook } } });
    await thing(c);
    await c.converges();
    expect(await c.client.kind(ConfigMap).find(here("a"))).toBeDefined();
    expect(texts.filter((code) => code === 412).length).toBeGreaterThan(0);
  });
});

describe("a child that differs", () => {
  const method = (name: string) => ({
    childResources: [{ apiVersion: "v1", resource: "configmaps", updateStrategy: { method: name } }],
  });
  const uidOf = async (c: Cluster) => (await c.client.kind(ConfigMap).get(here("a"))).metadata.uid;

  test("stays until someone deletes it, by OnDelete", async () => {
    await using server = await hookServer({
      "/sync": (asked) => ({ children: [map("a", { t: textOf(asked) })] }),
    });
    await using c = await world(server, method("OnDelete"));
    await thing(c, { text: "1" });
    await c.converges();
    await c.client.kind(Thing).patch(here("one"), { type: "merge", body: { spec: { text: "2" } } });
    await c.converges();
    expect((await c.client.kind(ConfigMap).get(here("a"))).data).toEqual({ t: "1" });
    await c.client.kind(ConfigMap).delete(here("a"));
    await c.converges();
    expect((await c.client.kind(ConfigMap).get(here("a"))).data).toEqual({ t: "2" });
  });

  test("is made again by Recreate, and not because of what others added", async () => {
    await using server = await hookServer({
      "/sync": (asked) => ({ children: [map("a", { t: textOf(asked) })] }),
    });
    await using c = await world(server, method("Recreate"));
    await thing(c, { text: "1" });
    await c.converges();
    const first = await uidOf(c);
    await c.client.kind(ConfigMap).patch(here("a"), { type: "merge", body: { data: { theirs: "x" } } });
    await c.converges();
    c.crash();
    await c.converges();
    expect(await uidOf(c)).toBe(first);
    await c.client.kind(Thing).patch(here("one"), { type: "merge", body: { spec: { text: "2" } } });
    await c.converges();
    expect(await uidOf(c)).not.toBe(first);
    expect((await c.client.kind(ConfigMap).get(here("a"))).data).toEqual({ t: "2" });
  });

  test.each(["RollingInPlace", "RollingRecreate"])("moves one after the other by %s", async (name) => {
    await using server = await hookServer({
      "/sync": (asked) => ({ children: ["a", "b", "c"].map((each) => map(each, { t: textOf(asked) })) }),
    });
    await using c = await world(server, method(name));
    await thing(c, { text: "1" });
    await c.converges();
    const seen: string[] = [];
    const note = () => {
      const texts = c.stored
        .list("configmaps", "default")
        .filter(({ metadata }) => metadata.labels?.["thing"] === "one")
        .map(({ data }) => (data as { t: string }).t)
        .join("");
      if (seen.at(-1) !== texts) seen.push(texts);
    };
    c.stored.subscribe("configmaps", note);
    await c.client.kind(Thing).patch(here("one"), { type: "merge", body: { spec: { text: "2" } } });
    await c.converges();
    const expected =
      name === "RollingInPlace" ? ["211", "221", "222"] : ["11", "211", "21", "221", "22", "222"];
    expect(seen).toEqual(expected);
    const { items } = await c.client.kind(ControllerRevision).list();
    expect(items).toMatchObject([
      { children: [{ apiGroup: "", kind: "ConfigMap", names: ["a", "b", "c"] }] },
    ]);
    const parent = (await c.client.kind(Thing).get(here("one"))) as unknown as {
      status: { conditions: JsonObject[] };
    };
    expect(parent.status.conditions).toMatchObject([
      { type: "Updated", status: "True", reason: "OnLatestRevision" },
    ]);
  });

  test("holds up a rollout until its status says what the checks ask for", () => {
    const object = (status: string) =>
      ({
        metadata: { name: "a", generation: 1 },
        status: { conditions: [{ type: "Ready", status }] },
      }) as never;
    const view = (ready: string) => ({
      revisions: [{ claims: new Map([["Pod", ["a"]]]) }, { claims: new Map([["Pod", ["b"]]]) }],
      latestName: "latest",
      desired: [
        { kind: "Pod", name: "a" },
        { kind: "Pod", name: "b" },
      ],
      method: () => "RollingRecreate" as const,
      checks: () => [{ type: "Ready", status: "True" }],
      observed: () => object(ready),
      isCurrent: ({ name }: { name: string }) => name === "a",
    });
    expect(decideRollout(view("False"))).toMatchObject({
      reason: "RolloutWaiting",
      message: "child Pod a failed its status check: Ready is False, not True",
    });
    expect(decideRollout(view("True"))).toMatchObject({
      reason: "RolloutProgressing",
      message: "updating Pod b",
    });
  });

  test("comes after those of an earlier wave, and goes before them", async () => {
    const wave = (name: string, number: string) =>
      map(name, {}, { annotations: { "hooks.keelson.dev/wave": number }, labels: { thing: "one" } });
    let wanted = [wave("last", "2"), wave("first", "0"), wave("middle", "1")];
    await using server = await hookServer({ "/sync": () => ({ children: wanted }) });
    await using c = await world(server);
    const order: string[] = [];
    c.stored.subscribe("configmaps", ({ type, object }) => {
      if (object.metadata.labels?.["thing"] === "one" && type !== "MODIFIED")
        order.push(`${type} ${object.metadata.name}`);
    });
    await thing(c);
    await c.converges();
    wanted = [];
    await c.client.kind(Thing).patch(here("one"), { type: "merge", body: { spec: { text: "x" } } });
    await c.converges();
    const names = order.map((line) => line.split(" ")[1]);
    expect(names).toEqual(["first", "middle", "last", "last", "middle", "first"]);
  });
});

describe("related objects", () => {
  test("are sent to the hook, and call it when they change", async () => {
    await using server = await hookServer({
      "/customize": () => ({
        relatedResources: [
          { apiVersion: "v1", resource: "secrets", namespace: "source", names: ["s"] },
          { apiVersion: "v1", resource: "namespaces", labelSelector: { matchLabels: { copy: "yes" } } },
        ],
      }),
      "/sync": ({ body }) => {
        const related = body["related"] as unknown as Record<
          string,
          Record<string, Stored & { data?: Record<string, string> }>
        >;
        const data = related["Secret.v1"]?.["source/s"]?.data ?? {};
        return {
          children: Object.keys(related["Namespace.v1"] ?? {}).map((namespace) => ({
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: { name: "copied", namespace },
            data,
          })),
        };
      },
    });
    const spec = {
      parentResource: { apiVersion: "example.com/v1", resource: "clusterthings" },
      generateSelector: true,
      hooks: {
        sync: { webhook: { url: `${server.url}/sync` } },
        customize: { webhook: { url: `${server.url}/customize` } },
      },
    };
    const definition = composite(server, spec);
    definition.metadata = {
      ...definition.metadata,
      annotations: { "hooks.keelson.dev/related": "v1/secrets, v1/namespaces" },
    };
    await using c = await cluster({
      controllers: await controllersFor(server, definition),
      resources: [ClusterThing],
      busy: server.busy,
    });
    for (const [name, copy] of [
      ["source", "no"],
      ["yes", "yes"],
    ] as const) {
      await c.client.kind(Namespace).create({ metadata: { name, labels: { copy } } });
    }
    await c.client.kind(Secret).create({ metadata: { namespace: "source", name: "s" }, data: { a: "b25l" } });
    await c.client.kind(ClusterThing).create(ClusterThing.object({ metadata: { name: "copy" }, spec: {} }));
    await c.converges();
    expect((await c.client.kind(ConfigMap).get({ namespace: "yes", name: "copied" })).data).toEqual({
      a: "b25l",
    });
    const patch = { type: "merge" as const, body: { data: { a: "dHdv" } } };
    await c.client.kind(Secret).patch({ namespace: "source", name: "s" }, patch);
    await c.client.kind(Namespace).create({ metadata: { name: "also", labels: { copy: "yes" } } });
    await c.converges();
    expect((await c.client.kind(ConfigMap).get({ namespace: "also", name: "copied" })).data).toEqual({
      a: "dHdv",
    });
    expect(server.asked.filter(({ path }) => path === "/customize").length).toBe(1);
    expect(c.forbidden).toEqual([]);
  });
});

async function eventsOf(c: Cluster): Promise<JsonObject[]> {
  const path = "/apis/events.k8s.io/v1/namespaces/default/events";
  return ((await c.client.raw({ path })) as { items: JsonObject[] }).items;
}
