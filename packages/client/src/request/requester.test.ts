import { systemRandom } from "@keelson/core";
import { describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../test/fake-clock.ts";
import { ConfigMap, configMap, Namespace } from "../../test/kinds.ts";
import { type Answer, body, broken, failure, json, ScriptedHttp, text } from "../../test/scripted-http.ts";
import {
  ApiError,
  ClientError,
  isConflict,
  isExpired,
  isForbidden,
  isNotFound,
  isOutcomeUnknown,
  isTransient,
} from "../errors.ts";
import { createClient } from "../verbs/create-client.ts";

const mid = { ...systemRandom, next: () => 0.5, fork: () => mid };

function start(...answers: Answer[]) {
  const clock = new FakeClock();
  const http = new ScriptedHttp(...answers);
  const client = createClient({ http, clock, random: mid });
  return { clock, http, client, configMaps: client.kind(ConfigMap) };
}

const ref = { namespace: "default", name: "a" };
const object = configMap("a", 1);
const outcome = async (promise: Promise<unknown>) =>
  await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );

describe("retries", () => {
  it("wait as long as Retry-After says, for reads and writes alike", async () => {
    for (const code of [429, 503]) {
      const { clock, http, configMaps } = start(
        failure(code, "", "busy", { "retry-after": "3" }),
        json(object),
      );
      const created = outcome(configMaps.create(object));
      await clock.advance(2_999);
      expect(http.requests).toHaveLength(1);
      await clock.advance(1);
      expect(await created).toEqual({ value: object });
    }
  });

  it("leave it to the caller when a write was refused without a time to come back", async () => {
    const { clock, http, configMaps } = start(failure(429, "TooManyRequests", "disruption budget"));
    const created = outcome(configMaps.create(object));
    await clock.advance(20_000);
    expect((await created) as object).toMatchObject({ error: { code: 429 } });
    expect(http.requests).toHaveLength(1);
  });

  it("give up at once when the wait is longer than the time left", async () => {
    const { http, configMaps } = start(failure(429, "TooManyRequests", "busy", { "retry-after": "60" }));
    const { error } = (await outcome(configMaps.get(ref))) as { error: ApiError };
    expect(error).toMatchObject({ code: 429, reason: "TooManyRequests", retryAfterMs: 60_000 });
    expect(http.requests).toHaveLength(1);
  });

  it("repeat a read that failed on the server or on the way, and grow apart", async () => {
    const { clock, http, configMaps } = start(
      failure(500, "InternalError"),
      broken(new Error("reset")),
      text("bad gateway", 502),
      json(object),
    );
    const got = outcome(configMaps.get(ref));
    await clock.advance(75);
    expect(http.requests).toHaveLength(2);
    await clock.advance(150);
    expect(http.requests).toHaveLength(3);
    await clock.advance(300);
    expect(await got).toEqual({ value: object });
  });

  it("end after five, with the last error", async () => {
    const { clock, http, configMaps } = start(failure(500, "InternalError", "etcd is away"));
    const got = outcome(configMaps.get(ref));
    await clock.advance(10_000);
    expect((await got) as object).toMatchObject({
      error: { message: "cannot get ConfigMap default/a: etcd is away (InternalError)" },
    });
    expect(http.requests).toHaveLength(6);
  });

  it("never repeat a write that may have happened", async () => {
    for (const answer of [
      broken(new Error("reset")),
      failure(500, "InternalError"),
      failure(504, "Timeout"),
      body("{"),
    ]) {
      const { clock, http, configMaps } = start(answer);
      const created = outcome(configMaps.create(object));
      await clock.advance(20_000);
      const { error } = (await created) as { error: unknown };
      expect(isOutcomeUnknown(error)).toBe(true);
      expect(isTransient(error)).toBe(true);
      expect(http.requests).toHaveLength(1);
    }
  });

  it("repeat a write of which nothing was sent", async () => {
    const { clock, configMaps } = start(broken(new ClientError("ConnectionFailed", "refused")), json(object));
    const created = outcome(configMaps.create(object));
    await clock.advance(100);
    expect(await created).toEqual({ value: object });
  });

  it("never repeat what the server decided", async () => {
    for (const answer of [failure(409, "Conflict"), failure(422, "Invalid"), failure(403, "Forbidden")]) {
      const { clock, http, configMaps } = start(answer);
      const created = outcome(configMaps.create(object));
      await clock.advance(20_000);
      const { error } = (await created) as { error: unknown };
      expect(isOutcomeUnknown(error)).toBe(false);
      expect(http.requests).toHaveLength(1);
    }
  });

  it("share a budget, so that many callers do not storm a sick server", async () => {
    const { clock, http, configMaps } = start(failure(500, "InternalError"));
    const all = Array.from({ length: 100 }, () => outcome(configMaps.get(ref)));
    await clock.advance(30_000);
    await Promise.all(all);
    expect(http.requests.length).toBeLessThanOrEqual(150);
  });
});

describe("timeouts", () => {
  it("end a read with Timeout and a write with OutcomeUnknown, even when the port looks away", async () => {
    const { clock, configMaps } = start(() => new Promise(() => {}));
    const got = outcome(configMaps.get(ref));
    const created = outcome(configMaps.create(object, { timeoutMs: 5_000 }));
    await clock.advance(5_000);
    expect((await created) as object).toMatchObject({ error: { code: "OutcomeUnknown" } });
    await clock.advance(25_000);
    expect((await got) as object).toMatchObject({
      error: { code: "Timeout", message: "cannot get ConfigMap default/a: no answer within 30000 ms" },
    });
    expect(clock.next).toBeUndefined();
  });

  it("leave no timer and no listener behind", async () => {
    const { clock, configMaps } = start(json(object));
    const stop = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = stop.signal;
    stop.signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++;
      addEventListener.apply(stop.signal, args);
    };
    stop.signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--;
      removeEventListener.apply(stop.signal, args);
    };
    await configMaps.get(ref, { signal: stop.signal });
    expect(listeners).toBe(0);
    expect(clock.next).toBeUndefined();
  });

  it("give way to the caller's own signal", async () => {
    const { configMaps } = start(() => new Promise(() => {}));
    const stop = new AbortController();
    const got = outcome(configMaps.get(ref, { signal: stop.signal }));
    await settle();
    const reason = new Error("not any more");
    stop.abort(reason);
    expect(await got).toEqual({ error: reason });
    expect(await outcome(configMaps.get(ref, { signal: stop.signal }))).toEqual({ error: reason });
  });
});

describe("errors", () => {
  it("are told apart by reason, also when only a proxy spoke", async () => {
    const { configMaps } = start(
      text("nope", 403),
      text("", 404),
      failure(409, "Conflict"),
      failure(410, "Expired"),
    );
    const errors: unknown[] = [];
    for (let i = 0; i < 4; i++)
      errors.push(((await outcome(configMaps.get(ref))) as { error: unknown }).error);
    expect(
      errors.map((error) => [isForbidden(error), isNotFound(error), isConflict(error), isExpired(error)]),
    ).toEqual([
      [true, false, false, false],
      [false, true, false, false],
      [false, false, true, false],
      [false, false, false, true],
    ]);
    expect((errors[0] as Error).message).toBe("cannot get ConfigMap default/a: nope (Forbidden)");
  });

  it("say that the answer was no JSON", async () => {
    const { configMaps } = start(text("<html>hello"));
    await expect(configMaps.get(ref)).rejects.toThrow(
      'cannot get ConfigMap default/a: the answer is not JSON, it begins with "<html>hello"; is the server address that of a Kubernetes API server?',
    );
  });
});

describe("warnings", () => {
  it("are handed on with what we were doing", async () => {
    const seen: unknown[] = [];
    const http = new ScriptedHttp(
      json(object, 200, { warning: '299 - "v1 is \\"old\\"", 299 - "unknown field"' }),
    );
    const client = createClient({ http, onWarning: (warning) => seen.push(warning) });
    await client.kind(ConfigMap).get(ref);
    const doing = "get ConfigMap default/a";
    expect(seen).toEqual([
      { text: 'v1 is "old"', doing },
      { text: "unknown field", doing },
    ]);
  });
});

describe("verbs", () => {
  const absent: Answer = json(
    { kind: "Status", code: 404, reason: "NotFound", details: { name: "a", kind: "configmaps" } },
    404,
  );

  it("find returns undefined for an absent object only, never for an absent kind", async () => {
    expect(await start(absent).configMaps.find(ref)).toBeUndefined();
    await expect(start(text("404 page not found", 404)).configMaps.find(ref)).rejects.toBeInstanceOf(
      ApiError,
    );
    const namespaceGone = json(
      { kind: "Status", code: 404, reason: "NotFound", details: { name: "default", kind: "namespaces" } },
      404,
    );
    await expect(start(namespaceGone).configMaps.find(ref)).rejects.toBeInstanceOf(ApiError);
  });

  it("delete returns what is left, and undefined when nothing is", async () => {
    const held = { ...object, metadata: { ...object.metadata, deletionTimestamp: "2026-01-31T12:00:00Z" } };
    expect(await start(json(held)).configMaps.delete(ref)).toEqual(held);
    expect(await start(json({ kind: "Status", status: "Success" })).configMaps.delete(ref)).toBeUndefined();
    expect(await start(absent).configMaps.delete(ref)).toBeUndefined();
  });

  it("delete carries preconditions and policy in its body", async () => {
    const { http, configMaps } = start(json({ kind: "Status" }));
    await configMaps.delete(ref, {
      uid: "u",
      resourceVersion: "3",
      propagation: "Foreground",
      gracePeriodSeconds: 0,
      dryRun: true,
    });
    expect(http.requests[0]).toMatchObject({
      method: "DELETE",
      path: "/api/v1/namespaces/default/configmaps/a",
    });
    expect(JSON.parse(http.requests[0]?.body as string)).toEqual({
      apiVersion: "v1",
      kind: "DeleteOptions",
      preconditions: { uid: "u", resourceVersion: "3" },
      propagationPolicy: "Foreground",
      gracePeriodSeconds: 0,
      dryRun: ["All"],
    });
  });

  it("send each form of patch and apply under its own type, signed by the field manager", async () => {
    const { http, configMaps, client } = start(json(object));
    await configMaps.patch(ref, { type: "json", operations: [{ op: "remove", path: "/data" }] });
    await configMaps.patch(ref, { type: "merge", body: {} }, { dryRun: true });
    await configMaps.patch(
      ref,
      { type: "strategic", body: {} },
      { fieldManager: "me", fieldValidation: "Strict" },
    );
    await configMaps.apply({ metadata: { ...ref } }, { force: true });
    await configMaps.subresource("status").apply({ metadata: { ...ref } });
    await client.with({ fieldManager: "other" }).kind(ConfigMap).update(object);
    const base = "/api/v1/namespaces/default/configmaps/a";
    expect(
      http.requests.map(({ method, path, headers }) => `${method} ${path} ${headers?.["content-type"]}`),
    ).toEqual([
      `PATCH ${base}?fieldManager=keelson application/json-patch+json`,
      `PATCH ${base}?fieldManager=keelson&dryRun=All application/merge-patch+json`,
      `PATCH ${base}?fieldManager=me&fieldValidation=Strict application/strategic-merge-patch+json`,
      `PATCH ${base}?fieldManager=keelson&force=true application/apply-patch+yaml`,
      `PATCH ${base}/status?fieldManager=keelson application/apply-patch+yaml`,
      `PUT ${base}?fieldManager=other application/json`,
    ]);
    expect(JSON.parse(http.requests[3]?.body as string)).toEqual({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: ref,
    });
  });

  it("reads pages one by one, from one snapshot", async () => {
    const page = (names: string[], next?: string) =>
      json({
        metadata: { resourceVersion: "9", ...(next ? { continue: next } : {}) },
        items: names.map((name) => configMap(name, 1)),
      });
    const { http, configMaps } = start(page(["a", "b"], "t/k+"), page(["c"]));
    const names: string[] = [];
    for await (const item of configMaps.each({ namespace: "default", pageSize: 2 }))
      names.push(item.metadata.name);
    expect(names).toEqual(["a", "b", "c"]);
    expect(http.paths[1]).toBe("/api/v1/namespaces/default/configmaps?limit=2&continue=t%2Fk%2B");
  });

  it("lists with what a list says of itself, and its items' kind", async () => {
    const { configMaps } = start(
      json({
        metadata: { resourceVersion: "9", continue: "x", remainingItemCount: 4 },
        items: [{ metadata: { name: "a" } }],
      }),
    );
    expect(await configMaps.list()).toEqual({
      items: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }],
      resourceVersion: "9",
      continue: "x",
      remainingItemCount: 4,
    });
  });

  it("refuse what would read the past or the wrong place, before anything is sent", async () => {
    const { http, configMaps, client } = start(json(object));
    await expect(configMaps.list({ resourceVersion: "0" })).rejects.toThrow(
      "leave it out for the latest state",
    );
    await expect(configMaps.get({ name: "a" })).rejects.toThrow(
      "cannot get ConfigMap a: ConfigMap lives in a namespace and none was given",
    );
    await expect(configMaps.get({ namespace: "x", name: "" })).rejects.toThrow("no name was given");
    await expect(configMaps.deleteAll({})).rejects.toThrow("none was given");
    await expect(client.kind(Namespace).update({ metadata: {} })).rejects.toThrow("no name was given");
    const watching = configMaps.watch({ resourceVersion: "0" })[Symbol.asyncIterator]();
    await expect(watching.next()).rejects.toThrow("leave it out for the latest state");
    expect(http.requests).toEqual([]);
  });

  it("say who we are and who we act as", async () => {
    const { http, client } = start(json(object));
    await client
      .with({
        impersonate: { user: "jane", groups: ["a", "b"], uid: "7", extra: { "example.com/Why": ["x"] } },
      })
      .kind(ConfigMap)
      .get(ref);
    expect(http.requests[0]?.headers).toMatchObject({
      "user-agent": expect.stringContaining("keelson"),
      "impersonate-user": "jane",
      "impersonate-group": ["a", "b"],
      "impersonate-uid": "7",
      "impersonate-extra-example.com%2Fwhy": ["x"],
    });
  });

  it("raw gives JSON as a value and anything else as text", async () => {
    expect(await start(json({ major: "1" })).client.raw({ path: "/version" })).toEqual({ major: "1" });
    expect(await start(text("ok")).client.raw({ path: "/readyz" })).toBe("ok");
  });
});

describe("watch", () => {
  it("gives the events of one connection and ends with it", async () => {
    const line = (type: string, value: object) => `${JSON.stringify({ type, object: value })}\n`;
    const bytes = Buffer.from(
      line("ADDED", configMap("ü€😀", 1)) +
        line("BOOKMARK", { metadata: { resourceVersion: "5" } }) +
        line("ERROR", { kind: "Status", code: 410, reason: "Expired" }),
    );
    const chunks = [...bytes].map((byte) => Uint8Array.of(byte));
    const { http, configMaps } = start(body(...chunks));
    const events: unknown[] = [];
    for await (const event of configMaps.watch({
      namespace: "default",
      resourceVersion: "3",
      bookmarks: true,
    }))
      events.push(event);
    expect(events).toEqual([
      { type: "added", object: configMap("ü€😀", 1) },
      { type: "bookmark", resourceVersion: "5", initialEventsEnd: false },
      { type: "error", status: { kind: "Status", code: 410, reason: "Expired" } },
    ]);
    expect(http.paths).toEqual([
      "/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=3&allowWatchBookmarks=true",
    ]);
  });

  it("throws for a line that is cut off, broken or no event", async () => {
    const all = async (chunk: string) => {
      for await (const _event of start(body(chunk)).configMaps.watch()) void 0;
    };
    await expect(all('{"type":"ADDED","object":{"metadata":{}}}')).rejects.toThrow(
      "ended in the middle of an event",
    );
    await expect(all('{"type":"ADDED","object":{\n')).rejects.toThrow("broken JSON");
    await expect(all('{"type":"NEW","object":{}}\n')).rejects.toThrow("no watch event");
    await expect(all("\n\n")).resolves.toBeUndefined();
  });
});

describe("discovery", () => {
  const aggregated = (groups: object[]) => json({ kind: "APIGroupDiscoveryList", items: groups as never });
  const group = (name: string, kind: string, resource: string) => ({
    metadata: { name },
    versions: [{ version: "v1", resources: [{ resource, responseKind: { kind }, scope: "Namespaced" }] }],
  });

  it("reads the aggregated form once, and again for a kind it does not know yet", async () => {
    const { http, client } = start(
      aggregated([group("", "Pod", "pods")]),
      aggregated([]),
      aggregated([]),
      aggregated([group("example.com", "Widget", "widgets")]),
    );
    expect(await client.discover("v1", "Pod")).toEqual({
      group: "",
      version: "v1",
      kind: "Pod",
      resource: "pods",
      scope: "Namespaced",
    });
    await client.discover("v1", "Pod");
    expect(http.requests).toHaveLength(2);
    expect((await client.discover("example.com/v1", "Widget")).resource).toBe("widgets");
    expect(http.paths).toEqual(["/api", "/apis", "/api", "/apis"]);
    await expect(client.discover("example.com/v1", "Gadget")).rejects.toThrow(
      "the server has no Gadget.example.com in version v1; is its CustomResourceDefinition installed and established?",
    );
  });

  it("asks an older server for each group version", async () => {
    const { http, client } = start(
      json({ kind: "APIVersions" }),
      json({ kind: "APIGroupList" }),
      json({
        kind: "APIResourceList",
        resources: [
          { name: "widgets", kind: "Widget", namespaced: false },
          { name: "widgets/status", kind: "Widget", namespaced: false },
        ],
      }),
      text("404 page not found", 404),
    );
    expect(await client.discover("example.com/v1", "Widget")).toMatchObject({
      resource: "widgets",
      scope: "Cluster",
    });
    expect(http.paths.at(-1)).toBe("/apis/example.com/v1");
    await expect(client.discover("other.com/v1", "Widget")).rejects.toMatchObject({ code: "KindUnknown" });
  });
});
