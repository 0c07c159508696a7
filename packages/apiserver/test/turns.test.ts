/** Requests that take long let others have their turn. */
import { systemClock } from "@keelson/core";
import { beforeAll, describe, expect, test } from "vitest";
import type { UserInfo } from "../src/contracts/authentication.ts";
import { configMap, configMaps, Server } from "./harness.ts";

const yaml = "application/yaml";
/** Refused after a fraction of a second: its reader notes every fault with the text around it. */
const slowYaml = `a: "${"\\x".repeat(6000)}`;
const table = "application/json;as=Table;g=meta.k8s.io;v=v1";

/** Whether the promise is still pending after the others were awaited. */
function watched<T>(promise: Promise<T>): { readonly done: boolean; readonly promise: Promise<T> } {
  const state = { done: false, promise };
  void promise.finally(() => {
    state.done = true;
  });
  return state;
}

describe("a text that takes long to read", () => {
  const asUser = (server: Server, name: string, body: string) => {
    const user: UserInfo = { name, groups: ["system:masters"] };
    return server.api
      .as(user)
      .request({ method: "POST", path: configMaps, headers: { "content-type": yaml }, body });
  };

  test("does not keep other requests waiting", async () => {
    await using server = await Server.start();
    for (const [method, path, type] of [
      ["POST", configMaps, yaml],
      ["PATCH", `${configMaps}/x`, "application/apply-patch+yaml"],
      ["DELETE", `${configMaps}/x`, yaml],
    ] as const) {
      const query: Record<string, string> = method === "PATCH" ? { fieldManager: "m" } : {};
      const slow = watched(server.send(method, path, slowYaml, { type, query }));
      for (let i = 0; i < 5; i++) expect((await server.get(configMaps)).status).toBe(200);
      expect([method, slow.done]).toEqual([method, false]);
      expect((await slow.promise).status).toBe(400);
    }
  });

  test("keeps another user's text waiting for one turn and no more", async () => {
    await using server = await Server.start();
    const greedy = Array.from({ length: 6 }, () => watched(asUser(server, "greedy", slowYaml)));
    const ordinary = `metadata: {name: b}\ndata:\n${"  k: v\n".repeat(400)}`;
    expect((await asUser(server, "ordinary", ordinary)).status).toBe(201);
    expect(greedy.filter(({ done }) => done).length).toBeLessThan(4);
    for (const { promise } of greedy) expect((await promise).status).toBe(400);
  });

  test("is one of a bounded number that wait", async () => {
    await using server = await Server.start();
    const all = await Promise.all(
      Array.from({ length: 30 }, () => asUser(server, "greedy", slowYaml.slice(0, 3000))),
    );
    const statuses = all.map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([400, 429]));
  });

  test("is read as a short one is", async () => {
    await using server = await Server.start();
    const text = (name: string, length: number) =>
      `metadata: {name: ${name}}\ndata: {on: "yes", n: "1_000", long: ${"x".repeat(length)}, on: "no"}\n`;
    const [short, long] = [await post(server, text("s", 10)), await post(server, text("l", 5000))];
    expect([short.status, long.status]).toEqual([201, 201]);
    expect({ ...long.body.data, long: "" }).toEqual({ ...short.body.data, long: "" });
    expect(long.headers.warning).toEqual(short.headers.warning);
    const deep = await post(server, `a: ${"[".repeat(20_000)}`);
    expect(deep.status).toBe(400);
  });

  const post = (server: Server, text: string) => server.send("POST", configMaps, text, { type: yaml });
});

describe("a list that takes long to make", () => {
  let server: Server;
  beforeAll(async () => {
    // Work is measured by the server's clock; one that stands still gives nobody a turn.
    server = await Server.start({ clock: systemClock });
    const labels = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`label-${i}`, "x".repeat(60)]));
    for (let i = 0; i < 6000; i++) await server.post(configMaps, configMap(`c${i}`, { a: "b" }, { labels }));
    return () => server[Symbol.asyncDispose]();
  });

  test.for([
    ["a table", { accept: table }],
    ["protobuf", { accept: "application/vnd.kubernetes.protobuf" }],
    ["YAML", { accept: yaml }],
    ["text to read", { accept: "application/json", "user-agent": "curl/8" }],
  ] as const)("as %s does not keep other requests waiting", async ([, headers]) => {
    const slow = watched(server.api.http.request({ method: "GET", path: configMaps, headers }));
    expect((await server.get(`${configMaps}/c0`)).status).toBe(200);
    await new Promise((resolve) => setImmediate(resolve));
    expect(slow.done).toBe(false);
    const response = await slow.promise;
    expect(response.status).toBe(200);
    for await (const _ of response.body);
  });

  test("is the same table as one that is made at once", async () => {
    const { body } = await server.send("GET", configMaps, undefined, { headers: { accept: table } });
    expect(body.kind).toBe("Table");
    expect(body.rows).toHaveLength(6000);
    expect(body.rows[0].cells.slice(0, 2)).toEqual(["c0", 1]);
    expect(body.metadata.resourceVersion).toMatch(/^\d+$/);
    const none = await server.send("GET", "/api/v1/namespaces/none/configmaps", undefined, {
      headers: { accept: table },
    });
    expect(none.body.rows ?? []).toEqual([]);
  });
});
