/** What a client must do on any API server: one suite, run on the embedded and on the real one. */
import type { JsonObject, Kind, KubeObject } from "@keelson/core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type ApiError,
  type Client,
  isAlreadyExists,
  isConflict,
  isExpired,
  isInvalid,
  isNotFound,
  type ReflectEvent,
  type WatchEvent,
} from "../src/index.ts";
import { ConfigMap, type ConfigMapLike, Namespace } from "./kinds.ts";

export interface ContractTarget extends AsyncDisposable {
  readonly client: Client;
  /** Makes the server drop its history up to now. */
  readonly forget?: () => Promise<void>;
}

const CustomResourceDefinition: Kind<KubeObject & { spec?: JsonObject }, "apiextensions.k8s.io"> = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  resource: "customresourcedefinitions",
  scope: "Cluster",
};

const Deployment: Kind<KubeObject & { spec?: JsonObject; status?: JsonObject }, "apps"> = {
  group: "apps",
  version: "v1",
  kind: "Deployment",
  resource: "deployments",
  scope: "Namespaced",
};

const widgets = {
  metadata: { name: "widgets.contract.example.com" },
  spec: {
    group: "contract.example.com",
    scope: "Namespaced",
    names: { kind: "Widget", plural: "widgets", singular: "widget", listKind: "WidgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { size: { type: "integer", minimum: 1 } } },
              status: { type: "object", properties: { ready: { type: "boolean" } } },
            },
          },
        },
      },
    ],
  },
};

/** `name` says which server it runs on. */
export function clientContract(name: string, start: () => Promise<ContractTarget>): void {
  describe(`client on ${name}`, () => {
    let target: ContractTarget;
    let client: Client;
    let namespace = "";
    let count = 0;
    beforeAll(async () => {
      target = await start();
      client = target.client;
    });
    afterAll(async () => await target?.[Symbol.asyncDispose]());
    beforeEach(async () => {
      namespace = `contract-${++count}`;
      await client.kind(Namespace).create({ metadata: { name: namespace } });
    });

    const make = (name: string, data: Record<string, string> = {}, more: object = {}): ConfigMapLike => ({
      metadata: { name, namespace, ...more },
      data,
    });
    const maps = () => client.kind(ConfigMap);
    const at = (name: string) => ({ namespace, name });

    it("creates, reads, replaces and deletes an object", async () => {
      const created = await maps().create(make("a", { k: "grüße €😀" }));
      expect(created).toMatchObject({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: at("a"),
        data: { k: "grüße €😀" },
      });
      expect(created.metadata.uid).toBeTruthy();
      expect(await maps().get(at("a"))).toEqual(created);
      const updated = await maps().update({ ...created, data: { k: "2" } });
      expect(updated.data).toEqual({ k: "2" });
      expect(updated.metadata.resourceVersion).not.toBe(created.metadata.resourceVersion);
      expect(await maps().delete(at("a"))).toBeUndefined();
      expect(await maps().find(at("a"))).toBeUndefined();
      expect(await maps().delete(at("a"))).toBeUndefined();
    });

    it("names the object and the reason in its errors", async () => {
      const missing = await caught(maps().get(at("nope")));
      expect(isNotFound(missing)).toBe(true);
      expect(missing.message).toBe(
        `cannot get ConfigMap ${namespace}/nope: configmaps "nope" not found (NotFound)`,
      );
      const first = await maps().create(make("a"));
      expect(isAlreadyExists(await caught(maps().create(make("a"))))).toBe(true);
      await maps().update({ ...first, data: { k: "1" } });
      const conflict = await caught(maps().update({ ...first, data: { k: "2" } }));
      expect(isConflict(conflict)).toBe(true);
      const invalid = await caught(maps().create(make("Not A Name")));
      expect(isInvalid(invalid)).toBe(true);
      expect(invalid.status.details?.causes?.[0]?.field).toBe("metadata.name");
    });

    it("tells an absent kind from an absent object", async () => {
      const ghosts: Kind = {
        group: "ghost.example.com",
        version: "v1",
        kind: "Ghost",
        resource: "ghosts",
        scope: "Namespaced",
      };
      await expect(client.kind(ghosts).find(at("a"))).rejects.toThrow("cannot get Ghost");
      await expect(client.discover("ghost.example.com/v1", "Ghost")).rejects.toMatchObject({
        code: "KindUnknown",
      });
    });

    it("patches in three forms", async () => {
      await maps().create(make("a", { x: "1", y: "2" }));
      const merged = await maps().patch(at("a"), { type: "merge", body: { data: { x: null, z: "3" } } });
      expect(merged.data).toEqual({ y: "2", z: "3" });
      const patched = await maps().patch(at("a"), {
        type: "json",
        operations: [
          { op: "test", path: "/data/y", value: "2" },
          { op: "replace", path: "/data/y", value: "4" },
        ],
      });
      expect(patched.data).toEqual({ y: "4", z: "3" });
      const strategic = await maps().patch(at("a"), {
        type: "strategic",
        body: { metadata: { labels: { l: "1" } } },
      });
      expect(strategic.metadata.labels).toEqual({ l: "1" });
    });

    it("applies, conflicts with other managers by name, and takes over by force", async () => {
      const mine = client.with({ fieldManager: "mine" }).kind(ConfigMap);
      const theirs = client.with({ fieldManager: "theirs" }).kind(ConfigMap);
      const first = await mine.apply(make("a", { k: "1" }));
      expect(await mine.apply(make("a", { k: "1" }))).toEqual(first);
      const conflict = await caught(theirs.apply(make("a", { k: "2" })));
      expect(isConflict(conflict)).toBe(true);
      expect(conflict.message).toContain('"mine"');
      expect((await theirs.apply(make("a", { k: "2" }), { force: true })).data).toEqual({ k: "2" });
      expect((await theirs.apply(make("a", {}))).data).toBeUndefined();
    });

    it("changes nothing in a dry run", async () => {
      await maps().create(make("a"), { dryRun: true });
      expect(await maps().find(at("a"))).toBeUndefined();
      await maps().create(make("a"));
      await maps().delete(at("a"), { dryRun: true });
      expect(await maps().find(at("a"))).toBeDefined();
    });

    it("deletes only what it was told to delete", async () => {
      const created = await maps().create(make("a"));
      expect(
        isConflict(await caught(maps().delete(at("a"), { uid: "00000000-0000-0000-0000-000000000000" }))),
      ).toBe(true);
      expect(isConflict(await caught(maps().delete(at("a"), { resourceVersion: "1" })))).toBe(true);
      await maps().delete(at("a"), {
        uid: created.metadata.uid,
        resourceVersion: created.metadata.resourceVersion,
      });
      expect(await maps().find(at("a"))).toBeUndefined();
    });

    it("returns an object that a finalizer holds, and sees it go", async () => {
      await maps().create(make("a", {}, { finalizers: ["example.com/hold"] }));
      const held = await maps().delete(at("a"));
      expect(held?.metadata.deletionTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      await maps().patch(at("a"), { type: "merge", body: { metadata: { finalizers: null } } });
      expect(await maps().find(at("a"))).toBeUndefined();
    });

    it("lists by label and field, in pages, and deletes a collection", async () => {
      for (let i = 0; i < 5; i++)
        await maps().create(make(`a${i}`, {}, { labels: { part: i < 3 ? "x" : "y" } }));
      const names = (items: readonly { metadata: { name: string } }[]) =>
        items.map(({ metadata }) => metadata.name);
      const all = await maps().list({ namespace, labels: "part=x" });
      expect(names(all.items)).toEqual(["a0", "a1", "a2"]);
      expect(all.items[0]).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });
      expect(Number(all.resourceVersion)).toBeGreaterThan(0);
      expect(names((await maps().list({ namespace, fields: "metadata.name=a4" })).items)).toEqual(["a4"]);
      const page = await maps().list({ namespace, labels: "part", limit: 2 });
      expect(names(page.items)).toEqual(["a0", "a1"]);
      expect(page.continue).toBeTruthy();
      const seen: string[] = [];
      for await (const item of maps().each({ namespace, labels: "part", pageSize: 2 }))
        seen.push(item.metadata.name);
      expect(seen).toEqual(["a0", "a1", "a2", "a3", "a4"]);
      await maps().deleteAll({ namespace, labels: "part=x" });
      expect(names((await maps().list({ namespace, labels: "part" })).items)).toEqual(["a3", "a4"]);
    });

    it("writes a status without the rest, and reads it back whole", async () => {
      const deployments = client.kind(Deployment);
      const template = {
        metadata: { labels: { app: "a" } },
        spec: { containers: [{ name: "c", image: "example.com/c:1" }] },
      };
      await deployments.create({
        metadata: at("a"),
        spec: { replicas: 2, selector: { matchLabels: { app: "a" } }, template },
      });
      const status = deployments.subresource("status");
      const patched = await status.patch(at("a"), {
        type: "merge",
        body: { spec: { replicas: 9 }, status: { replicas: 1 } },
      });
      expect(patched.status).toMatchObject({ replicas: 1 });
      expect(patched.spec).toMatchObject({ replicas: 2 });
      const scale = (await deployments.subresource("scale").get(at("a"))) as { spec?: JsonObject };
      expect(scale.spec).toEqual({ replicas: 2 });
      await deployments
        .subresource("scale")
        .patch(at("a"), { type: "merge", body: { spec: { replicas: 3 } } });
      expect((await deployments.get(at("a"))).spec).toMatchObject({ replicas: 3 });
    });

    it("discovers a kind installed a moment ago and uses it", async () => {
      const crds = client.kind(CustomResourceDefinition);
      await crds.create(widgets);
      await expect
        .poll(async () => await client.discover("contract.example.com/v1", "Widget").catch(() => undefined), {
          timeout: 20_000,
        })
        .toBeDefined();
      const kind = await client.discover("contract.example.com/v1", "Widget");
      expect(kind).toMatchObject({ resource: "widgets", scope: "Namespaced" });
      const items = client.kind(kind as Kind<KubeObject & { spec?: JsonObject; status?: JsonObject }>);
      const created = await items.create({ metadata: at("w"), spec: { size: 1 } });
      expect(created.spec).toEqual({ size: 1 });
      expect(isInvalid(await caught(items.create({ metadata: at("v"), spec: { size: 0 } })))).toBe(true);
      const applied = await items.subresource("status").apply({ metadata: at("w"), status: { ready: true } });
      expect(applied.status).toEqual({ ready: true });
      await crds.delete({ name: widgets.metadata.name });
    });

    it("watches from a version, in order, with bookmarks' and metadata's forms", async () => {
      const { resourceVersion } = await maps().list({ namespace });
      const events = maps().watch({ namespace, resourceVersion, labels: "mine" })[Symbol.asyncIterator]();
      const first = events.next();
      await maps().create(make("other"));
      await maps().create(make("a", { n: "1" }, { labels: { mine: "" } }));
      await maps().patch(at("a"), { type: "merge", body: { data: { n: "2" } } });
      await maps().patch(at("a"), { type: "merge", body: { metadata: { labels: { mine: null } } } });
      const seen = [
        (await first).value,
        (await events.next()).value,
        (await events.next()).value,
      ] as WatchEvent<KubeObject>[];
      expect(seen.map((event) => event.type)).toEqual(["added", "modified", "deleted"]);
      await events.return?.();
      const metadata = maps()
        .watch({ namespace, metadataOnly: true, fields: "metadata.name=a" })
        [Symbol.asyncIterator]();
      const event = (await metadata.next()).value as WatchEvent<KubeObject>;
      expect(event).toMatchObject({
        type: "added",
        object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } },
      });
      expect("object" in event && Object.keys(event.object)).toEqual(["apiVersion", "kind", "metadata"]);
      await metadata.return?.();
    });

    it("streams the current state with its end mark", async () => {
      await maps().create(make("a"));
      await maps().create(make("b"));
      const seen: string[] = [];
      for await (const event of maps().watch({ namespace, initialEvents: true })) {
        seen.push("object" in event ? `${event.type} ${event.object.metadata.name}` : event.type);
        if (event.type === "bookmark" && event.initialEventsEnd) break;
      }
      expect(seen.filter((line) => !line.includes("kube-root-ca"))).toEqual([
        "added a",
        "added b",
        "bookmark",
      ]);
    });

    it("says that a version from long ago is gone", async ({ skip }) => {
      const { forget } = target;
      if (!forget) return skip("this server cannot be made to forget");
      const old = await maps().create(make("a"));
      await maps().update({ ...old, data: { k: "1" } });
      await forget();
      const { resourceVersion } = old.metadata;
      const error = await caught(maps().list({ namespace, resourceVersion, resourceVersionMatch: "Exact" }));
      expect(isExpired(error)).toBe(true);
    });

    it.each(["stream", "list"] as const)(
      "reflects a kind from a %s, through changes, until it is stopped",
      async (initial) => {
        for (let i = 0; i < 3; i++) await maps().create(make(`a${i}`, {}, { labels: { mine: "" } }));
        const stop = new AbortController();
        const seen: string[] = [];
        let tell: (() => void) | undefined;
        const until = async (line: string) => {
          while (!seen.includes(line)) {
            await new Promise<void>((resolve) => {
              tell = resolve;
            });
          }
        };
        const running = (async () => {
          const events = maps().reflect({
            namespace,
            labels: "mine",
            initial,
            pageSize: 2,
            signal: stop.signal,
          });
          for await (const event of events) {
            seen.push(describeEvent(event));
            tell?.();
          }
        })();
        await until("synced");
        expect(seen).toEqual(["restart", "item a0", "item a1", "item a2", "synced"]);
        await maps().patch(at("a1"), { type: "merge", body: { data: { k: "1" } } });
        await maps().delete(at("a0"));
        await maps().create(make("a3", {}, { labels: { mine: "" } }));
        await until("added a3");
        expect(seen.slice(5).filter((line) => line !== "bookmark")).toEqual([
          "modified a1",
          "deleted a0",
          "added a3",
        ]);
        stop.abort();
        await running;
      },
    );

    it("reads any path", async () => {
      expect(await client.raw({ path: "/version" })).toMatchObject({ major: "1" });
      expect(await client.raw({ path: "/readyz" })).toBe("ok");
    });

    it("acts as someone else", async () => {
      const review = await client.with({ impersonate: { user: "jane", groups: ["dev"] } }).raw({
        method: "POST",
        path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
      });
      expect(review).toMatchObject({
        status: { userInfo: { username: "jane", groups: ["dev", "system:authenticated"] } },
      });
    });
  });
}

function describeEvent(event: ReflectEvent<KubeObject>): string {
  if ("object" in event) {
    expect(event.object.metadata?.managedFields).toBeUndefined();
    return `${event.type} ${event.object.metadata?.name}`;
  }
  return event.type;
}

async function caught(promise: Promise<unknown>): Promise<ApiError> {
  return await promise.then(
    () => {
      throw new Error("it was expected to fail");
    },
    (error: unknown) => error as ApiError,
  );
}
