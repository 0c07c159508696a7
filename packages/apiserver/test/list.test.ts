import { describe, expect, it } from "vitest";
import { configMap, configMaps, Server } from "./harness.ts";

const names = (answer: { body: { items: { metadata: { name: string } }[] } }) =>
  answer.body.items.map(({ metadata }) => metadata.name);

async function withMany(count: number): Promise<Server> {
  const server = await Server.start();
  for (let i = 0; i < count; i++) await server.post(configMaps, configMap(`c${i}`));
  return server;
}

describe("a list in pages", () => {
  it("stays on the snapshot of its first page", async () => {
    await using server = await withMany(4);
    const first = await server.get(configMaps, { limit: "2" });
    expect(names(first)).toEqual(["c0", "c1"]);
    expect(first.body.metadata.remainingItemCount).toBe(2);
    await server.del(`${configMaps}/c2`);
    await server.post(configMaps, configMap("c9"));
    const second = await server.get(configMaps, { limit: "2", continue: first.body.metadata.continue });
    expect(names(second)).toEqual(["c2", "c3"]);
    expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
    expect(second.body.metadata.continue).toBeUndefined();
  });

  it("offers a token for the rest, inconsistent, when its snapshot is gone", async () => {
    await using server = await withMany(4);
    const first = await server.get(configMaps, { limit: "2" });
    await server.post(configMaps, configMap("c9"));
    server.api.compact();
    const expired = await server.get(configMaps, { limit: "2", continue: first.body.metadata.continue });
    expect(expired.body).toMatchObject({ code: 410, reason: "Expired" });
    const rest = await server.get(configMaps, { limit: "9", continue: expired.body.metadata.continue });
    expect(names(rest)).toEqual(["c2", "c3", "c9"]);
  });

  it("walks every object once whatever the page size", async () => {
    await using server = await withMany(7);
    for (const limit of ["1", "2", "3", "7", "20"]) {
      const seen: string[] = [];
      let token: string | undefined;
      do {
        const page = await server.get(configMaps, { limit, ...(token && { continue: token }) });
        seen.push(...names(page));
        token = page.body.metadata.continue;
      } while (token);
      expect(seen).toEqual(["c0", "c1", "c2", "c3", "c4", "c5", "c6"]);
    }
  });

  it("refuses tokens that it did not make", async () => {
    await using server = await withMany(1);
    for (const token of ["rubbish", "e30", "eyJ2IjoieCJ9", "%%%"])
      expect((await server.get(configMaps, { continue: token })).status).toBe(400);
  });
});

describe("a list at a resourceVersion", () => {
  it("reads exactly that past, or says that it is gone", async () => {
    await using server = await Server.start();
    const first = await server.post(configMaps, configMap("a", { k: "1" }));
    await server.merge(`${configMaps}/a`, { data: { k: "2" } });
    await server.post(configMaps, configMap("b"));
    const { resourceVersion } = first.body.metadata;
    const past = await server.get(configMaps, { resourceVersion, resourceVersionMatch: "Exact" });
    expect(past.body.items).toMatchObject([{ metadata: { name: "a" }, data: { k: "1" } }]);
    expect(past.body.metadata.resourceVersion).toBe(resourceVersion);
    server.api.compact();
    const gone = await server.get(configMaps, { resourceVersion, resourceVersionMatch: "Exact" });
    expect(gone.body).toMatchObject({ code: 410, reason: "Expired" });
  });

  it("does not answer from a future that it has not reached", async () => {
    await using server = await Server.start();
    const answer = await server.get(configMaps, { resourceVersion: "999999" });
    expect(answer.status).toBe(504);
    expect(answer.body.details).toMatchObject({
      causes: [{ reason: "ResourceVersionTooLarge" }],
      retryAfterSeconds: 1,
    });
    expect(answer.headers["retry-after"]).toBe("1");
  });
});

describe("the form of an answer", () => {
  it("is YAML, a Table or bare metadata when the client asks for it", async () => {
    await using server = await withMany(1);
    const as = (accept: string) => server.send("GET", configMaps, undefined, { headers: { accept } });
    expect((await as("application/yaml")).text).toContain("kind: ConfigMapList");
    expect((await as("application/json;as=Table;g=meta.k8s.io;v=v1")).body.kind).toBe("Table");
    const partial = await as("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    expect(partial.body.items[0]).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "c0" } });
    expect(partial.body.items[0].data).toBeUndefined();
  });

  it("is the best that both sides know, by quality", async () => {
    await using server = await withMany(1);
    const accept = "application/json;q=0.1, application/yaml;q=0.9";
    const answer = await server.send("GET", configMaps, undefined, { headers: { accept } });
    expect(answer.headers["content-type"]).toBe("application/yaml");
  });

  it("is a 406 when there is none", async () => {
    await using server = await withMany(1);
    for (const accept of ["text/html", "application/json;as=Table;g=nobody;v=v1"]) {
      const answer = await server.send("GET", configMaps, undefined, { headers: { accept } });
      expect(answer.body).toMatchObject({ code: 406, reason: "NotAcceptable" });
    }
  });
});
