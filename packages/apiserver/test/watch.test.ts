import { describe, expect, it } from "vitest";
import { configMap, configMaps, Server, settle, Watching } from "./harness.ts";

describe("a watch", () => {
  it("shows what is there, then what happens, each once and in order", async () => {
    await using server = await Server.start();
    await server.post(configMaps, configMap("a"));
    const watch = await server.watch(configMaps);
    await server.post(configMaps, configMap("b"));
    await server.merge(`${configMaps}/a`, { data: { k: "1" } });
    await server.del(`${configMaps}/a`);
    await settle();
    expect(watch.seen).toEqual(["ADDED a", "ADDED b", "MODIFIED a", "DELETED a"]);
    const revisions = watch.events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(revisions).toEqual([...revisions].sort((x, y) => x - y));
    watch.stop();
  });

  it("begins strictly after its resourceVersion", async () => {
    await using server = await Server.start();
    const first = await server.post(configMaps, configMap("a"));
    await server.post(configMaps, configMap("b"));
    const watch = await server.watch(configMaps, { resourceVersion: first.body.metadata.resourceVersion });
    await settle();
    expect(watch.seen).toEqual(["ADDED b"]);
    watch.stop();
  });

  it("sees no other namespace", async () => {
    await using server = await Server.start();
    const watch = await server.watch(configMaps, { resourceVersion: "0" });
    await server.post("/api/v1/namespaces/kube-system/configmaps", configMap("x"));
    await settle();
    expect(watch.seen).toEqual([]);
    watch.stop();
  });

  it("streams a list and marks its end", async () => {
    await using server = await Server.start();
    await server.post(configMaps, configMap("a"));
    const watch = await server.watch(configMaps, {
      sendInitialEvents: "true",
      resourceVersionMatch: "NotOlderThan",
      allowWatchBookmarks: "true",
    });
    await server.post(configMaps, configMap("b"));
    await settle();
    expect(watch.events.map(({ type }) => type)).toEqual(["ADDED", "BOOKMARK", "ADDED"]);
    const bookmark = watch.events[1]?.object;
    expect(bookmark.metadata.annotations).toEqual({ "k8s.io/initial-events-end": "true" });
    expect(bookmark).toMatchObject({ kind: "ConfigMap", apiVersion: "v1" });
    expect(Number(bookmark.metadata.resourceVersion)).toBeGreaterThan(0);
    watch.stop();
  });

  it("sends bookmarks every minute and before it ends, and ends in time", async () => {
    await using server = await Server.start();
    const watch = await server.watch(configMaps, {
      resourceVersion: "0",
      allowWatchBookmarks: "true",
      timeoutSeconds: "150",
    });
    await server.clock.advance(61_000);
    expect(watch.seen).toEqual(["BOOKMARK"]);
    await server.clock.advance(60_000);
    expect(watch.seen).toEqual(["BOOKMARK", "BOOKMARK"]);
    expect(watch.ended).toBe(false);
    await server.clock.advance(30_000);
    await watch.done;
    expect(watch.seen).toEqual(["BOOKMARK", "BOOKMARK", "BOOKMARK"]);
    expect(server.clock.pending).toBe(0);
  });

  it("reports a past that is gone as an event, not as silence", async () => {
    await using server = await Server.start();
    const first = await server.post(configMaps, configMap("a"));
    await server.post(configMaps, configMap("b"));
    server.api.compact();
    const watch = await server.watch(configMaps, { resourceVersion: first.body.metadata.resourceVersion });
    await watch.done;
    expect(watch.events).toMatchObject([{ type: "ERROR", object: { code: 410, reason: "Expired" } }]);
  });

  it("forgets what is older than the compaction interval", async () => {
    await using server = await Server.start();
    const first = await server.post(configMaps, configMap("a"));
    await server.merge(`${configMaps}/a`, { data: { k: "1" } });
    await server.clock.advance(301_000);
    await server.post(configMaps, configMap("b"));
    await server.clock.advance(301_000);
    await server.post(configMaps, configMap("c"));
    const old = await server.watch(configMaps, { resourceVersion: first.body.metadata.resourceVersion });
    await old.done;
    expect(old.events[0]).toMatchObject({ type: "ERROR", object: { code: 410 } });
  });

  it("shows an object that leaves the selector as deleted in its last matching state", async () => {
    await using server = await Server.start();
    await server.post(configMaps, configMap("a", { k: "1" }, { labels: { in: "yes" } }));
    const watch = await server.watch(configMaps, { labelSelector: "in=yes" });
    await server.merge(`${configMaps}/a`, { metadata: { labels: { in: "no" } }, data: { k: "2" } });
    await settle();
    expect(watch.seen).toEqual(["ADDED a", "DELETED a"]);
    expect(watch.events[1]?.object).toMatchObject({ metadata: { labels: { in: "yes" } }, data: { k: "1" } });
    watch.stop();
  });

  it("ends when its custom resource is withdrawn", async () => {
    await using server = await Server.start();
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    await server.post(definitions, {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "widgets.example.com" },
      spec: {
        group: "example.com",
        scope: "Cluster",
        names: { plural: "widgets", kind: "Widget" },
        versions: [
          { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
        ],
      },
    });
    await settle();
    const watch = await server.watch("/apis/example.com/v1/widgets");
    expect(watch.status).toBe(200);
    await server.post("/apis/example.com/v1/widgets", {
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { name: "w" },
    });
    await server.del(`${definitions}/widgets.example.com`);
    await settle();
    await watch.done;
    expect(watch.seen).toEqual(["ADDED w", "DELETED w"]);
    expect((await server.get("/apis/example.com/v1/widgets")).status).toBe(404);
  });

  it("leaves nothing behind: ten thousand opened and closed", async () => {
    await using server = await Server.start();
    const before = server.clock.pending;
    for (let round = 0; round < 100; round++) {
      const watches = await Promise.all(
        Array.from({ length: 100 }, () => server.watch(configMaps, { allowWatchBookmarks: "true" })),
      );
      for (const watch of watches) watch.stop();
      await Promise.all(watches.map(({ done }) => done));
    }
    expect(server.clock.pending).toBe(before);
  });

  it("lets a client that was slow to read catch up, each event once and in order", async () => {
    await using server = await Server.start();
    await server.post(configMaps, configMap("a"));
    const abort = new AbortController();
    const path = `${configMaps}?watch=true&allowWatchBookmarks=true`;
    const response = await server.api.http.request({ method: "GET", path, signal: abort.signal });
    const big = "x".repeat(100_000);
    for (let i = 0; i < 20; i++) await server.merge(`${configMaps}/a`, { data: { k: `${i}${big}` } });
    const seen = new Watching(response.status, response.body, abort);
    await settle();
    await server.merge(`${configMaps}/a`, { data: { k: "last" } });
    await settle();
    expect(seen.events.map(({ object }) => Number.parseInt(object.data?.k, 10))).toEqual([
      Number.NaN,
      ...Array.from({ length: 20 }, (_, i) => i),
      Number.NaN,
    ]);
    seen.stop();
  });

  it("keeps nothing for a client that does not read, and breaks off when the past it needs is gone", async () => {
    await using server = await Server.start();
    await server.post(configMaps, configMap("a"));
    const response = await server.api.http.request({ method: "GET", path: `${configMaps}?watch=true` });
    const big = "x".repeat(900_000);
    for (let i = 0; i < 20; i++) await server.merge(`${configMaps}/a`, { data: { k: `${i}${big}` } });
    server.api.compact();
    await server.merge(`${configMaps}/a`, { data: { k: "last" } });
    let bytes = 0;
    const read = async () => {
      for await (const chunk of response.body) bytes += chunk.length;
    };
    await expect(read()).rejects.toThrow();
    expect(bytes).toBeLessThan(2 * 1024 * 1024);
  });

  it("streams a list longer than any buffer", async () => {
    await using server = await Server.start();
    const big = "x".repeat(900_000);
    for (let i = 0; i < 22; i++) await server.post(configMaps, configMap(`m${i}`, { k: big }));
    const watch = await server.watch(configMaps);
    await expect.poll(() => watch.seen.length).toBe(22);
    watch.stop();
  });

  it("whose bookmarks have no such form ends with an error, and the server goes on", async () => {
    await using server = await Server.start();
    const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    for (const more of ["timeoutSeconds=10", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"]) {
      const path = `${configMaps}?watch=1&allowWatchBookmarks=true&${more}`;
      const response = await server.api.http.request({
        method: "GET",
        path,
        headers: { accept },
        streaming: true,
      });
      await server.clock.advance(9000);
      const text = Buffer.concat(await Array.fromAsync(response.body)).toString();
      expect(JSON.parse(text)).toMatchObject({ type: "ERROR", object: { code: 406 } });
    }
    expect((await server.get(configMaps)).status).toBe(200);
  });
});
