import { systemRandom } from "@keelson/core";
import { describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../test/fake-clock.ts";
import { ConfigMap, configMap } from "../../test/kinds.ts";
import {
  type Answer,
  broken,
  failure,
  json,
  LiveBody,
  ScriptedHttp,
  text,
} from "../../test/scripted-http.ts";
import type { ReflectEvent, ReflectOptions } from "../client/client.ts";
import { ClientError } from "../errors.ts";
import { createClient } from "../verbs/create-client.ts";

const mid = { ...systemRandom, next: () => 0.5, fork: () => mid };
const unsupported = failure(422, "Invalid", "sendInitialEvents: Forbidden");

/** Runs reflect over a script and writes down what it says, in short. */
function follow(answers: Answer[], options: ReflectOptions = {}) {
  const clock = new FakeClock();
  const http = new ScriptedHttp(...answers);
  const client = createClient({ http, clock, random: mid });
  const stop = new AbortController();
  const events: ReflectEvent<unknown>[] = [];
  const done = (async () => {
    for await (const event of client.kind(ConfigMap).reflect({ ...options, signal: stop.signal }))
      events.push(event);
  })();
  done.catch(() => {});
  return {
    clock,
    http,
    events,
    done,
    said: () => events.splice(0).map(short),
    stop: async () => {
      stop.abort();
      await done;
    },
  };
}

function short(event: ReflectEvent<unknown>): string {
  if ("object" in event) {
    const { metadata } = event.object as ReturnType<typeof configMap>;
    return `${event.type} ${metadata.name}@${metadata.resourceVersion}`;
  }
  if (event.type === "restart") return `restart ${event.reason}`;
  if (event.type === "interrupted") return `interrupted ${event.attempt} ${event.retryInMs}`;
  return "resourceVersion" in event ? `${event.type} ${event.resourceVersion}` : event.type;
}

const objectOf = (event: ReflectEvent<unknown> | undefined) =>
  event && "object" in event ? event.object : undefined;

const endMark = (resourceVersion: string) => ({
  metadata: { resourceVersion, annotations: { "k8s.io/initial-events-end": "true" } },
});
const mark = (resourceVersion: string) => ({ metadata: { resourceVersion } });
const list = (resourceVersion: string, names: string[], next?: string) =>
  json({
    kind: "ConfigMapList",
    apiVersion: "v1",
    metadata: { resourceVersion, ...(next ? { continue: next } : {}) },
    items: names.map((name, i) => configMap(name, i + 1)),
  });

describe("reflect", () => {
  it("streams the initial state and goes on with the same connection", async () => {
    const live = new LiveBody();
    const run = follow([live.answer]);
    live.event("ADDED", configMap("a", 3));
    live.event("ADDED", configMap("b", 2));
    live.event("BOOKMARK", endMark("7"));
    live.event("MODIFIED", configMap("a", 8));
    live.event("DELETED", configMap("b", 9));
    live.event("BOOKMARK", mark("12"));
    await settle();
    expect(run.said()).toEqual([
      "restart start",
      "item a@3",
      "item b@2",
      "synced 7",
      "modified a@8",
      "deleted b@9",
      "bookmark 12",
    ]);
    expect(run.http.paths).toEqual([
      "/api/v1/configmaps?watch=true&allowWatchBookmarks=true&timeoutSeconds=450&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
    ]);
    await run.stop();
    expect(live.closed).toBe(true);
  });

  it("takes an object out of the state being built when it is deleted meanwhile", async () => {
    const live = new LiveBody();
    const run = follow([live.answer]);
    live.event("ADDED", configMap("a", 3));
    live.event("MODIFIED", configMap("a", 4));
    live.event("DELETED", configMap("a", 5));
    live.event("BOOKMARK", endMark("7"));
    await settle();
    expect(run.said()).toEqual(["restart start", "item a@3", "item a@4", "deleted a@5", "synced 7"]);
    await run.stop();
  });

  it("lists page by page from a server without WatchList, never from version 0", async () => {
    const live = new LiveBody();
    const run = follow([unsupported, list("5", ["a", "b"], "more"), list("5", ["c"]), live.answer], {
      namespace: "default",
      labels: "app=x",
      pageSize: 2,
    });
    await settle();
    expect(run.said()).toEqual(["restart start", "item a@1", "item b@2", "item c@1", "synced 5"]);
    const base = "/api/v1/namespaces/default/configmaps?";
    expect(run.http.paths.slice(1)).toEqual([
      `${base}labelSelector=app%3Dx&limit=2`,
      `${base}labelSelector=app%3Dx&limit=2&continue=more`,
      `${base}watch=true&labelSelector=app%3Dx&allowWatchBookmarks=true&timeoutSeconds=450&resourceVersion=5`,
    ]);
    await run.stop();
  });

  it("falls back to a list when the server ignores the stream request and stays silent", async () => {
    const deaf = new LiveBody();
    const live = new LiveBody();
    const run = follow([deaf.answer, list("5", ["a"]), live.answer]);
    deaf.event("ADDED", configMap("a", 1));
    await run.clock.advance(9_999);
    expect(run.said()).toEqual(["restart start", "item a@1"]);
    await run.clock.advance(1);
    expect(run.said()).toEqual(["restart failed", "item a@1", "synced 5"]);
    expect(deaf.closed).toBe(true);
    await run.stop();
  });

  it("falls back to a list when an ordinary bookmark comes before the end mark", async () => {
    const deaf = new LiveBody();
    const run = follow([deaf.answer, list("5", ["a"]), new LiveBody().answer]);
    deaf.event("BOOKMARK", mark("3"));
    await settle();
    expect(run.said()).toEqual(["restart start", "restart failed", "item a@1", "synced 5"]);
    await run.stop();
  });

  it("resumes from the last version when the server ends the watch, without a word", async () => {
    const first = new LiveBody();
    const second = new LiveBody();
    const run = follow([list("5", []), first.answer, second.answer], { initial: "list" });
    await settle();
    first.event("ADDED", configMap("a", 6));
    first.event("BOOKMARK", mark("9"));
    first.end();
    await settle();
    second.event("MODIFIED", configMap("a", 10));
    await settle();
    expect(run.said()).toEqual(["restart start", "synced 5", "added a@6", "bookmark 9", "modified a@10"]);
    expect(run.http.paths[2]).toContain("resourceVersion=9");
    await run.stop();
  });

  it("backs off from a server that ends every watch at once", async () => {
    const closed = () => ({ status: 200, headers: {}, body: (async function* () {})() });
    const run = follow([list("5", []), closed], { initial: "list" });
    await settle();
    expect(run.said()).toEqual(["restart start", "synced 5", "interrupted 1 150"]);
    await run.clock.advance(150);
    expect(run.said()).toEqual(["resumed", "interrupted 2 300"]);
    await run.stop();
  });

  it.each([
    [
      "an ERROR event",
      (live: LiveBody) => live.event("ERROR", { kind: "Status", code: 410, reason: "Expired" }),
    ],
    ["HTTP", undefined],
  ])("begins again with the whole state after 410 as %s", async (_name, expire) => {
    const live = new LiveBody();
    const gone: Answer = expire ? live.answer : failure(410, "Expired");
    const run = follow([list("5", ["a", "b"]), gone, list("20", ["b"]), new LiveBody().answer], {
      initial: "list",
    });
    await settle();
    expire?.(live);
    await settle();
    expect(run.said()).toEqual([
      "restart start",
      "item a@1",
      "item b@2",
      "synced 5",
      "restart expired",
      "item b@1",
      "synced 20",
    ]);
    await run.stop();
  });

  it("backs off when every version it gets has expired already", async () => {
    const gone = failure(410, "Expired");
    const run = follow([list("5", []), gone, list("6", []), gone, list("7", []), new LiveBody().answer], {
      initial: "list",
    });
    await settle();
    expect(run.said()).toEqual([
      "restart start",
      "synced 5",
      "restart expired",
      "synced 6",
      "interrupted 1 150",
    ]);
    await run.clock.advance(150);
    expect(run.said()).toEqual(["resumed", "restart expired", "synced 7"]);
    await run.stop();
  });

  it("lists without pages when a continue token expires half-way", async () => {
    const run = follow(
      [list("5", ["a"], "more"), failure(410, "Expired"), list("8", ["a", "b"]), new LiveBody().answer],
      { initial: "list" },
    );
    await settle();
    await run.clock.advance(150);
    expect(run.said()).toEqual([
      "restart start",
      "item a@1",
      "interrupted 1 150",
      "resumed",
      "restart expired",
      "item a@1",
      "item b@2",
      "synced 8",
    ]);
    expect(run.http.paths[2]).toBe("/api/v1/configmaps");
    await run.stop();
  });

  it("resumes after a broken connection, with backoff that grows and is forgotten at the next event", async () => {
    const first = new LiveBody();
    const second = new LiveBody();
    const run = follow(
      [
        list("5", []),
        first.answer,
        broken(new Error("refused")),
        failure(500, "InternalError"),
        second.answer,
      ],
      {
        initial: "list",
      },
    );
    await settle();
    first.event("ADDED", configMap("a", 6));
    first.fail(new Error("reset"));
    await settle();
    expect(run.said()).toEqual(["restart start", "synced 5", "added a@6", "interrupted 1 150"]);
    await run.clock.advance(150);
    expect(run.said()).toEqual(["interrupted 2 300"]);
    await run.clock.advance(300);
    expect(run.said()).toEqual(["interrupted 3 600"]);
    await run.clock.advance(600);
    expect(run.said()).toEqual(["resumed"]);
    second.event("MODIFIED", configMap("a", 7));
    second.fail(new Error("reset"));
    await settle();
    expect(run.said()).toEqual(["modified a@7", "interrupted 1 150"]);
    expect(run.http.paths.at(-1)).toContain("resourceVersion=6");
    await run.stop();
  });

  it("waits as long as Retry-After says", async () => {
    const run = follow(
      [
        failure(429, "TooManyRequests", "slow down", { "retry-after": "7" }),
        list("5", []),
        new LiveBody().answer,
      ],
      {
        initial: "list",
      },
    );
    await settle();
    expect(run.said()).toEqual(["interrupted 1 7000"]);
    await run.clock.advance(6_999);
    expect(run.http.requests).toHaveLength(1);
    await run.clock.advance(1);
    expect(run.said()).toEqual(["resumed", "restart start", "synced 5"]);
    await run.stop();
  });

  it("makes an event that was cut in two an interruption and never an event", async () => {
    const first = new LiveBody();
    const second = new LiveBody();
    const run = follow([list("5", []), first.answer, second.answer], { initial: "list" });
    await settle();
    const line = JSON.stringify({ type: "ADDED", object: configMap("a", 6) });
    first.write(line.slice(0, -1));
    first.end();
    await settle();
    expect(run.said()).toEqual(["restart start", "synced 5", "interrupted 1 150"]);
    await run.clock.advance(150);
    expect(run.http.paths.at(-1)).toContain("resourceVersion=5");
    await run.stop();
  });

  it("resumes after a line that is no JSON", async () => {
    const first = new LiveBody();
    const run = follow([list("5", []), first.answer, new LiveBody().answer], { initial: "list" });
    await settle();
    first.write("upstream connect error\n");
    await run.clock.advance(200);
    expect(run.said()).toEqual(["restart start", "synced 5", "interrupted 1 150", "resumed"]);
    expect(first.closed).toBe(true);
    await run.stop();
  });

  it("leaves a quiet watch alone while its bookmarks come, and finds a silent one without them", async () => {
    const first = new LiveBody();
    const run = follow([list("5", []), first.answer, new LiveBody().answer], { initial: "list" });
    await settle();
    for (let version = 6; version < 66; version++) {
      first.event("BOOKMARK", mark(String(version)));
      await run.clock.advance(60_000);
    }
    expect(run.said().slice(-1)).toEqual(["bookmark 65"]);
    expect(run.http.requests).toHaveLength(2);
    await run.clock.advance(89_999);
    expect(run.said()).toEqual([]);
    await run.clock.advance(1);
    expect(run.said()).toEqual(["interrupted 1 150"]);
    expect(first.closed).toBe(true);
    await run.stop();
  });

  it("opens a watch that never had a bookmark again after the same time, at its last resource version and without an error", async () => {
    const [first, second] = [new LiveBody(), new LiveBody()];
    const none = list("5", []);
    const script = [none, first.answer, none, second.answer, list("6", []), broken(new Error("no route"))];
    const run = follow(script, { initial: "list" });
    await run.clock.advance(149_999);
    expect(run.http.requests).toHaveLength(2);
    await run.clock.advance(1);
    await settle();
    expect(first.closed).toBe(true);
    expect(run.http.paths[3]).toContain("resourceVersion=5");
    expect(run.said()).toEqual(["restart start", "synced 5"]);
    second.event("ADDED", configMap("a", 6));
    await settle();
    expect(run.said()).toEqual(["added a@6"]);
    // It was dead, and so is the server: that is worth a word.
    await run.clock.advance(150_000);
    await settle();
    expect(run.http.paths[5]).toContain("resourceVersion=6");
    expect(run.said()).toEqual(["interrupted 1 150"]);
    await run.stop();
  });

  it("begins again when a silent watch turns out to wait for versions that the server lost", async () => {
    const [first, second] = [new LiveBody(), new LiveBody()];
    const script = [list("500", ["a"]), first.answer, list("8", ["b"]), list("8", ["b"]), second.answer];
    const run = follow(script, { initial: "list", labels: "app=x" });
    await settle();
    first.event("BOOKMARK", mark("501"));
    await run.clock.advance(150_000);
    await run.clock.advance(150);
    // Without labels, for which a server may have to look at everything.
    expect(run.http.paths[2]).toBe("/api/v1/configmaps?limit=1");
    expect(run.said()).toEqual([
      "restart start",
      "item a@1",
      "synced 500",
      "bookmark 501",
      "interrupted 1 150",
      "resumed",
      "restart rewound",
      "item b@1",
      "synced 8",
    ]);
    second.event("ADDED", configMap("c", 9));
    await settle();
    expect(run.said()).toEqual(["added c@9"]);
    await run.stop();
  });

  it("begins again when the server's versions go back", async () => {
    const first = new LiveBody();
    const run = follow([list("500", ["a"]), first.answer, list("8", ["b"]), new LiveBody().answer], {
      initial: "list",
    });
    await settle();
    first.event("ADDED", configMap("c", 7));
    await run.clock.advance(150);
    expect(run.said()).toEqual([
      "restart start",
      "item a@1",
      "synced 500",
      "restart rewound",
      "item b@1",
      "synced 8",
    ]);
    await run.stop();
  });

  it("waits for a kind or a permission that is not there yet", async () => {
    const run = follow(
      [text("404 page not found", 404), failure(403, "Forbidden"), list("5", []), new LiveBody().answer],
      {
        initial: "list",
      },
    );
    await run.clock.advance(1_000);
    expect(run.said()).toEqual([
      "interrupted 1 150",
      "interrupted 2 300",
      "resumed",
      "restart start",
      "synced 5",
    ]);
    await run.stop();
  });

  it("throws when the request itself is wrong", async () => {
    const run = follow([failure(400, "BadRequest", "unable to parse requirement")], { initial: "list" });
    await expect(run.done).rejects.toThrow("cannot list ConfigMap: unable to parse requirement (BadRequest)");
  });

  it("reads nothing ahead of a consumer that does not ask", async () => {
    const live = new LiveBody();
    const client = createClient({ http: new ScriptedHttp(live.answer), clock: new FakeClock() });
    const events = client.kind(ConfigMap).reflect()[Symbol.asyncIterator]();
    for (let i = 0; i < 10; i++) live.event("ADDED", configMap(`a${i}`, i + 1));
    await events.next();
    await events.next();
    await settle();
    expect(live.taken).toBe(1);
    await events.return?.();
    expect(live.closed).toBe(true);
  });

  it("drops managed fields, fills in the kind that list items lack, and keeps both when told", async () => {
    const item = {
      metadata: { name: "a", resourceVersion: "1", managedFields: [{ manager: "m" }], uid: "u" },
    };
    const page = json({ kind: "ConfigMapList", metadata: { resourceVersion: "5" }, items: [item] });
    const dropped = follow([page, new LiveBody().answer], { initial: "list" });
    const kept = follow([page, new LiveBody().answer], { initial: "list", keepManagedFields: true });
    await settle();
    expect(objectOf(dropped.events[1])).toEqual({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "a", resourceVersion: "1", uid: "u" },
    });
    expect(objectOf(kept.events[1])).toMatchObject({ metadata: { managedFields: [{ manager: "m" }] } });
    await dropped.stop();
    await kept.stop();
  });

  it("ends quietly when it is stopped while it waits for the server", async () => {
    const run = follow([() => new Promise(() => {})]);
    await settle();
    await run.stop();
    expect(run.said()).toEqual([]);
  });

  it("keeps the order of ten thousand events, whatever the chunks", async () => {
    const live = new LiveBody();
    const run = follow([list("1", []), live.answer], { initial: "list" });
    await settle();
    let lines = "";
    for (let i = 0; i < 10_000; i++)
      lines += `${JSON.stringify({ type: "MODIFIED", object: configMap("ü", i + 2) })}\n`;
    const bytes = Buffer.from(lines);
    for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7919) % 65_521) {
      live.write(bytes.subarray(at, at + size));
    }
    for (let i = 0; i < 200 && run.events.length < 10_002; i++) await settle();
    const versions = run.events.slice(2).map((event) => short(event));
    expect(versions).toEqual(Array.from({ length: 10_000 }, (_, i) => `modified ü@${i + 2}`));
    await run.stop();
  });

  it("names what it was doing in every error it reports", async () => {
    const run = follow([broken(new ClientError("ConnectionFailed", "connect ECONNREFUSED 127.0.0.1:1"))], {
      namespace: "default",
    });
    await settle();
    expect(run.events[0]).toMatchObject({
      type: "interrupted",
      error: { message: "cannot watch ConfigMap in default: connect ECONNREFUSED 127.0.0.1:1" },
    });
    await run.stop();
  });
});
