/** What a draft sends to the server, and when it sends nothing. */
import { ApiError } from "@keelson/client";
import type { Condition, JsonObject, Stored } from "@keelson/core";
import { ConfigMap } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import { done, fail, waiting } from "../controller/outcome.ts";
import { RuntimeError } from "../errors.ts";
import { isPassing, outcomeOfError, StatusDraft } from "./status-draft.ts";
import { StatusMemory } from "./status-memory.ts";

const manager = "keelson-test";
const nowMs = Date.parse("2026-01-01T12:00:00Z");

/** A server that keeps one object's status as it is applied, without owners of fields. */
class Server {
  object: Stored;
  readonly sent: { verb: string; status: JsonObject; metadata: JsonObject }[] = [];
  readonly fails: unknown[] = [];
  readonly memory = new StatusMemory();
  /** Managed fields as `find` shows them. */
  managed: object[] = [];

  constructor(status?: object, metadata: object = {}) {
    this.object = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: "a",
        namespace: "default",
        uid: "1",
        resourceVersion: "1",
        generation: 3,
        ...metadata,
      },
      ...(status ? { status } : {}),
    } as never;
  }

  #store(status: JsonObject): Stored {
    const { metadata } = this.object;
    const resourceVersion = String(Number(metadata.resourceVersion) + 1);
    this.object = { ...this.object, metadata: { ...metadata, resourceVersion }, status } as never;
    return this.object;
  }

  draft({
    object = this.object,
    mode = "auto" as const,
  }: {
    object?: Stored;
    mode?: "auto" | "conditions";
  } = {}) {
    const take = (verb: string, body: { metadata: JsonObject; status: JsonObject }) => {
      this.sent.push({ verb, status: body.status, metadata: body.metadata });
      const error = this.fails.shift();
      if (error) throw error;
    };
    const verbs = {
      find: async () => ({
        ...this.object,
        metadata: { ...this.object.metadata, managedFields: this.managed },
      }),
      subresource: () => ({
        apply: async (body: never) => {
          take("apply", body);
          return this.#store((body as { status: JsonObject }).status);
        },
        patch: async (_: object, { body }: { body: never }) => {
          take("patch", body);
          const { status } = body as { status: JsonObject };
          const before = (this.object as { status?: JsonObject }).status ?? {};
          const left = Object.entries({ ...before, ...status }).filter(([, value]) => value !== null);
          return this.#store(Object.fromEntries(left) as JsonObject);
        },
      }),
    };
    const client = { kind: () => verbs, client: { kind: () => verbs } } as never;
    return new StatusDraft(object, {
      ...{ kind: ConfigMap, client, fieldManager: manager, memory: this.memory, mode },
      now: () => nowMs,
      current: () => this.object,
    });
  }
}

const conditionsOf = (server: Server): readonly Condition[] =>
  (server.object as { status?: { conditions?: Condition[] } }).status?.conditions ?? [];

describe("a status", () => {
  test("is written once, with conditions, generation and time, and not again while nothing changes", async () => {
    const server = new Server();
    const say = async () => {
      const draft = server.draft();
      draft.setAuthor({ seen: "x" });
      draft.setInventory([]);
      return [draft.isThere(done()), await draft.write(done())];
    };
    expect(await say()).toEqual([false, true]);
    expect(server.sent[0]?.metadata).toEqual({
      name: "a",
      namespace: "default",
      uid: "1",
      resourceVersion: "1",
    });
    expect(server.sent[0]?.status).toMatchObject({
      seen: "x",
      observedGeneration: 3,
      conditions: [
        { type: "Ready", status: "True", observedGeneration: 3, lastTransitionTime: "2026-01-01T12:00:00Z" },
        { type: "Reconciling", status: "False" },
        { type: "Stalled", status: "False" },
      ],
    });
    expect(server.sent[0]?.status).not.toHaveProperty("inventory");
    expect(server.sent[0]?.status).not.toHaveProperty("steps");
    expect(await say()).toEqual([true, false]);
    expect(server.sent).toHaveLength(1);
  });

  test("is there only as it was said, of the same object at the same version", async () => {
    const server = new Server();
    const said = (
      change: (draft: StatusDraft) => void,
      outcome: Parameters<StatusDraft["isThere"]>[0] = done(),
    ) => {
      const draft = server.draft();
      draft.setAuthor({ seen: "x" });
      change(draft);
      return draft.isThere(outcome);
    };
    const first = server.draft();
    first.setAuthor({ seen: "x" });
    await first.write(done());
    expect(said(() => {})).toBe(true);
    expect(said((draft) => draft.setAuthor({ more: 1 }))).toBe(false);
    expect(said((draft) => draft.setCondition({ type: "X", status: "True", reason: "R", message: "" }))).toBe(
      false,
    );
    expect(said((draft) => draft.setInventory([]))).toBe(false);
    expect(said((draft) => draft.setSteps([{ id: "s" } as never]))).toBe(false);
    expect(said(() => {}, waiting("R", "m"))).toBe(false);
    server.object = { ...server.object, metadata: { ...server.object.metadata, resourceVersion: "99" } };
    expect(said(() => {})).toBe(false);
    expect(await server.draft().write(undefined)).toBe(false);
  });

  test("is written for the object that was reconciled, and not for another of its name", async () => {
    const server = new Server();
    const draft = server.draft();
    server.object = { ...server.object, metadata: { ...server.object.metadata, uid: "2" } };
    draft.setAuthor({ seen: "x" });
    expect([draft.isThere(done()), await draft.write(done()), server.sent]).toEqual([false, false, []]);
  });

  test("says the parts that were said one after the other", async () => {
    const server = new Server();
    const draft = server.draft();
    draft.setAuthor({ a: 1, b: 1 });
    draft.setAuthor({ b: 2 });
    await draft.write(done());
    expect(server.sent[0]?.status).toMatchObject({ a: 1, b: 2 });
    expect(() => draft.setAuthor({ at: 1n } as never)).toThrow(RuntimeError);
  });

  test("has no place for conditions that follow from the outcome", () => {
    for (const type of ["Ready", "Reconciling", "Stalled"])
      expect(() =>
        new Server().draft().setCondition({ type, status: "True", reason: "R", message: "" }),
      ).toThrow(`the condition ${type} follows from the outcome`);
  });

  test("carries inventory and steps where the resource has a place for them", async () => {
    const entry = { slot: "a", kind: "ConfigMap", name: "b", uid: "2" };
    const write = async (mode: "auto" | "conditions") => {
      const server = new Server();
      const draft = server.draft({ mode });
      draft.setInventory([entry]);
      draft.setSteps([{ id: "s" } as never]);
      await draft.write(done());
      return server.sent[0]?.status;
    };
    expect(await write("auto")).toMatchObject({ inventory: [entry], steps: [{ id: "s" }] });
    expect(Object.keys((await write("conditions")) ?? {})).toEqual(["observedGeneration", "conditions"]);
  });

  test("keeps the inventory of before when a run says none", async () => {
    const inventory = [{ slot: "a", kind: "ConfigMap", name: "b", uid: "2" }];
    const server = new Server({ inventory });
    await server.draft().write(done());
    expect(server.sent[0]?.status).toMatchObject({ inventory });
  });

  test("forgets steps that a run did not ask for", () => {
    const server = new Server({ steps: [{ id: "a" }, { id: "b" }] });
    const draft = server.draft();
    draft.askFor("b");
    draft.forgetSteps();
    expect(draft.steps).toEqual([{ id: "b" }]);
  });
});

describe("a condition", () => {
  test("keeps its time as long as its status stays", async () => {
    const before = {
      type: "Ready",
      status: "False",
      reason: "Old",
      message: "old",
      lastTransitionTime: "2020-01-01T00:00:00Z",
    };
    const server = new Server({ conditions: [before] });
    await server.draft().write(waiting("New", "new"));
    expect(conditionsOf(server)[0]).toMatchObject({
      reason: "New",
      lastTransitionTime: before.lastTransitionTime,
    });
    await server.draft().write(done());
    expect(conditionsOf(server)[0]).toMatchObject({
      status: "True",
      lastTransitionTime: "2026-01-01T12:00:00Z",
    });
  });

  test("has words that the API takes: reasons are words, and messages end", async () => {
    const reasonFor = async (reason: string) => {
      const server = new Server();
      const draft = server.draft();
      draft.setCondition({ type: "X", status: "True", reason, message: "m".repeat(40_000) });
      await draft.write(done());
      return conditionsOf(server).find(({ type }) => type === "X");
    };
    expect((await reasonFor("no route to host"))?.reason).toBe("noroutetohost");
    expect((await reasonFor("1st: try,"))?.reason).toBe("st:try");
    expect((await reasonFor("?!"))?.reason).toBe("Unknown");
    expect((await reasonFor("R".repeat(2_000)))?.reason).toHaveLength(1_024);
    const { message = "" } = (await reasonFor("R")) ?? {};
    expect(message).toHaveLength(32_768);
    expect(message.endsWith("…")).toBe(true);
  });

  test("of an object without generations names none", async () => {
    const server = new Server(undefined, { generation: undefined });
    await server.draft().write(done());
    expect(conditionsOf(server)[0]).not.toHaveProperty("observedGeneration");
    expect(server.sent[0]?.status).not.toHaveProperty("observedGeneration");
  });

  test("that was written around a step leaves the others as they are", async () => {
    const server = new Server();
    await server.draft().write(waiting("R", "m"));
    const before = conditionsOf(server);
    const draft = server.draft();
    draft.setSteps([{ id: "s" } as never]);
    draft.setCondition({ type: "X", status: "True", reason: "R", message: "" });
    await draft.write(undefined);
    expect(conditionsOf(server).slice(0, 3)).toEqual(before);
    expect(conditionsOf(server)[3]).toMatchObject({ type: "X", status: "True" });
  });
});

describe("a write that meets another's", () => {
  const status = (code: number, reason: string) =>
    new ApiError({ code, reason, message: "no" } as never, { doing: "apply" } as never);
  const conflict = () => status(409, "Conflict");
  const write = (server: Server, options: { exclusive?: boolean } = {}) => {
    const draft = server.draft();
    draft.setAuthor({ seen: "x" });
    return draft.write(done(), options);
  };

  test("is made again from the newer version", async () => {
    const server = new Server();
    const draft = server.draft({ object: server.object });
    draft.setAuthor({ seen: "x" });
    server.fails.push(conflict());
    const seen = server.object;
    server.object = { ...seen, metadata: { ...seen.metadata, resourceVersion: "8" } };
    expect(await draft.write(done())).toBe(true);
    expect(server.sent.map(({ metadata }) => metadata["resourceVersion"])).toEqual(["8", "8"]);
  });

  test("is given up after some attempts, and at once where it must be the only one", async () => {
    const busy = new Server();
    for (let n = 0; n < 20; n++) busy.fails.push(conflict());
    await expect(write(busy)).rejects.toThrow("no");
    expect(busy.sent.length).toBeGreaterThan(2);
    expect(busy.sent.length).toBeLessThan(10);
    const alone = new Server();
    alone.fails.push(conflict());
    await expect(write(alone, { exclusive: true })).rejects.toThrow("no");
    expect(alone.sent).toHaveLength(1);
  });

  test("is not made to another object of its name", async () => {
    const server = new Server();
    const draft = server.draft();
    draft.setAuthor({ seen: "x" });
    const replaced = { ...server.object, metadata: { ...server.object.metadata, uid: "2" } };
    server.fails.push(conflict());
    const original = server.object;
    const current = { ...original };
    server.object = current;
    const writing = draft.write(done());
    server.object = replaced;
    expect(await writing).toBe(false);
    expect(server.sent).toHaveLength(1);
  });

  test("that the server refuses is said to be invalid, and what the author said is given up", async () => {
    const server = new Server();
    const draft = server.draft();
    draft.setAuthor({ seen: "x" });
    draft.setCondition({ type: "X", status: "True", reason: "R", message: "" });
    server.fails.push(status(422, "Invalid"));
    await expect(draft.write(done())).rejects.toMatchObject({
      code: "InvalidStatus",
      message: expect.stringContaining("the server refuses the status"),
    });
    expect(await draft.write(fail("InvalidStatus", "no"))).toBe(true);
    expect(server.sent.at(-1)?.status).not.toHaveProperty("seen");
    expect(conditionsOf(server).map(({ type }) => type)).toEqual(["Ready", "Reconciling", "Stalled"]);
  });

  test("is made once more without what others left beside it, where that made it invalid", async () => {
    const server = new Server({ relic: "y" });
    server.fails.push(status(422, "Invalid"));
    expect(await write(server)).toBe(true);
    expect(server.sent.map(({ verb }) => verb)).toEqual(["apply", "patch", "apply"]);
    expect(server.sent[1]?.status).toEqual({ relic: null, seen: "x", observedGeneration: 3 });
  });
});

describe("what an error says of the object", () => {
  const api = (code: number, reason: string) =>
    new ApiError({ code, reason, message: "no" } as never, { doing: "get" } as never);
  test.each<[string, unknown, string, string]>([
    ["a child that will never do", new RuntimeError("InvalidChild", "m"), "failed", "InvalidChild"],
    ["a child of another's", new RuntimeError("NotOurs", "m"), "failed", "NotOurs"],
    ["a child that is still there", new RuntimeError("StillThere", "m"), "waiting", "StillThere"],
    ["what the server finds invalid", api(422, "Invalid"), "failed", "Invalid"],
    ["what the server forbids", api(403, "Forbidden"), "waiting", "Forbidden"],
    ["any other error", new Error("m"), "waiting", "ReconcileError"],
    ["what is no error", "m", "waiting", "ReconcileError"],
  ])("%s", (_, error, outcome, reason) => {
    expect(outcomeOfError(error)).toMatchObject({ outcome, reason });
  });

  test("a race that was lost passes, and not for ever", () => {
    expect([0, 1, 2].map((failures) => isPassing(api(409, "Conflict"), failures))).toEqual([
      true,
      true,
      false,
    ]);
    expect(isPassing(api(503, "ServiceUnavailable"), 0)).toBe(true);
    expect(isPassing(api(403, "Forbidden"), 0)).toBe(false);
    expect(isPassing(new Error("m"), 0)).toBe(false);
  });
});
