import type { Client } from "@keelson/client";
import { VirtualClock } from "@keelson/testing/clock";
import { describe, expect, test } from "vitest";
import { silentLogger } from "../log/logger.ts";
import { EventRecorder } from "./event-recorder.ts";

interface SentEvent {
  readonly metadata: { readonly name: string };
  readonly reason: string;
  readonly note: string;
}

describe("events about one object", () => {
  const subject = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "c", namespace: "default", uid: "1", resourceVersion: "1" },
  };

  function recorder() {
    const sent: SentEvent[] = [];
    const client = {
      kind: () => ({ create: async (event: SentEvent) => void sent.push(event) }),
    } as unknown as Client;
    const clock = new VirtualClock();
    const events = new EventRecorder({ client, clock, instance: "i", log: silentLogger });
    return { events, clock, sent };
  }

  test("of a reason that does not stop leave room for those of another", async () => {
    const { events, sent } = recorder();
    for (let n = 0; n < 100; n++) events.record("c", subject, "Normal", "Busy", `again ${n}`);
    events.record("c", subject, "Warning", "Lost", "its volume is gone");
    await events.flush();
    expect(sent.filter(({ reason }) => reason === "Busy")).toHaveLength(25);
    expect(sent.at(-1)).toMatchObject({ reason: "Lost", note: "its volume is gone" });
  });

  test("of one reason go on, one in five minutes", async () => {
    const { events, clock, sent } = recorder();
    for (let n = 0; n < 100; n++) events.record("c", subject, "Normal", "Busy", `again ${n}`);
    await clock.advance(600_000);
    for (let n = 100; n < 200; n++) events.record("c", subject, "Normal", "Busy", `again ${n}`);
    await events.flush();
    expect(sent).toHaveLength(27);
  });

  test("are as long as the API allows: 1024 characters of note, 253 of name", async () => {
    const { events, sent } = recorder();
    const subjectOf = (name: string) => ({ ...subject, metadata: { ...subject.metadata, name } });
    for (const length of [1_024, 1_025])
      events.record("c", subjectOf("a".repeat(253)), "Normal", "Long", "n".repeat(length));
    await events.flush();
    expect(sent.map(({ note }) => note)).toEqual(["n".repeat(1_024), `${"n".repeat(1_023)}…`]);
    expect(sent.map(({ metadata }) => metadata.name.length)).toEqual([253, 253]);
  });

  test("that someone deleted are made again when they are told again", async () => {
    let made = 0;
    const create = async () => void made++;
    const patch = async () => {
      throw Object.assign(new Error("events is not found"), { code: 404 });
    };
    const client = { kind: () => ({ create, patch }) } as unknown as Client;
    const clock = new VirtualClock();
    const events = new EventRecorder({ client, clock, instance: "i", log: silentLogger });
    for (let minute = 0; minute < 3; minute++) {
      events.record("c", subject, "Warning", "BackupFailed", "no backup can be taken");
      await events.flush();
      await clock.advance(60_000);
    }
    expect(made).toBe(2);
  });

  test("that warn outlive a namespace which ends: they are told of the namespace", async () => {
    const made: { metadata: { namespace: string }; note: string; regarding: object }[] = [];
    const create = async (event: (typeof made)[number]) => {
      if (event.metadata.namespace !== "default") {
        const message = "unable to create new content in namespace doomed because it is being terminated";
        throw Object.assign(new Error(message), { code: 403 });
      }
      made.push(event);
    };
    const client = { kind: () => ({ create }) } as unknown as Client;
    const events = new EventRecorder({ client, clock: new VirtualClock(), instance: "i", log: silentLogger });
    const doomed = { ...subject, metadata: { ...subject.metadata, namespace: "doomed" } };
    events.record("c", doomed, "Normal", "Deleting", "it ends");
    events.record("c", doomed, "Warning", "BackupFailed", "no backup can be taken");
    await events.flush();
    expect(made).toHaveLength(1);
    expect(made[0]).toMatchObject({
      note: "ConfigMap c: no backup can be taken",
      regarding: { kind: "Namespace", name: "doomed" },
    });
  });
});

describe("the same event told again", () => {
  const subject = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "c", namespace: "default", uid: "1", resourceVersion: "1" },
  };

  function recorder(fail?: (verb: string) => Error | undefined) {
    const sent: { verb: string; ref?: object; body: Record<string, unknown> }[] = [];
    const lines: unknown[][] = [];
    const take = async (verb: string, entry: Omit<(typeof sent)[number], "verb">) => {
      sent.push({ verb, ...entry });
      const error = fail?.(verb);
      if (error) throw error;
    };
    const client = {
      kind: () => ({
        create: async (body: never) => await take("create", { body }),
        patch: async (ref: object, { body }: { body: never }) => await take("patch", { ref, body }),
      }),
    } as unknown as Client;
    const clock = new VirtualClock();
    const log = { ...silentLogger, warn: (...line: unknown[]) => void lines.push(line) };
    const events = new EventRecorder({ client, clock, instance: "i", log });
    const tell = async (reason = "Lost", metadata: object = {}, controller = "c") => {
      events.record(
        controller,
        { ...subject, metadata: { ...subject.metadata, ...metadata } },
        "Warning",
        reason,
        "gone",
      );
      await events.flush();
    };
    return { clock, sent, lines, tell, events, verbs: () => sent.map(({ verb }) => verb) };
  }

  test("counts up, and the count is written once a minute", async () => {
    const { clock, sent, tell, verbs } = recorder();
    await tell();
    await clock.advance(59_999);
    await tell();
    expect(verbs()).toEqual(["create"]);
    await clock.advance(1);
    await tell();
    expect(verbs()).toEqual(["create", "patch"]);
    expect(sent[1]).toMatchObject({
      ref: {
        namespace: "default",
        name: (sent[0]?.body as { metadata: { name: string } } | undefined)?.metadata.name,
      },
      body: { series: { count: 3 } },
    });
    await clock.advance(59_999);
    await tell();
    expect(verbs()).toHaveLength(2);
    await clock.advance(1);
    await tell();
    expect(sent[2]?.body).toMatchObject({ series: { count: 5 } });
  });

  test("after ten minutes is another event, with another name", async () => {
    const { clock, sent, tell, verbs } = recorder();
    await tell();
    await clock.advance(599_999);
    await tell();
    expect(verbs()).toEqual(["create", "patch"]);
    await clock.advance(600_000);
    await tell();
    expect(verbs()).toEqual(["create", "patch", "create"]);
    const names = [0, 2].map(
      (each) => (sent[each]?.body as { metadata: { name: string } } | undefined)?.metadata.name,
    );
    expect(names[0]).not.toBe(names[1]);
    expect(names[0]).toMatch(/^c\.[0-9a-f]{16}$/);
  });

  test("is another one by each of what makes it", async () => {
    const { tell, verbs } = recorder();
    await tell();
    await tell("Other");
    await tell("Lost", { uid: "2" });
    await tell("Lost", {}, "another");
    await tell();
    expect(verbs()).toEqual(["create", "create", "create", "create"]);
  });

  test("of an object of the cluster is told in the namespace default", async () => {
    const { sent, tell } = recorder();
    await tell("Lost", { namespace: undefined });
    expect(sent[0]?.body).toMatchObject({
      metadata: { namespace: "default" },
      ...{
        reportingController: "c",
        reportingInstance: "i",
        action: "Reconcile",
        type: "Warning",
        reason: "Lost",
      },
      regarding: { apiVersion: "v1", kind: "ConfigMap", name: "c", uid: "1" },
    });
  });

  test("that cannot be written is logged, and made again the next time", async () => {
    let refuses = true;
    const error = new Error("it is refused");
    const { lines, tell, verbs } = recorder(() => (refuses ? error : undefined));
    await tell();
    expect(lines).toEqual([["an event could not be recorded", { error }]]);
    refuses = false;
    await tell();
    expect(verbs()).toEqual(["create", "create"]);
    expect(lines).toHaveLength(1);
  });

  test.each([
    ["a namespace that ends, by a reason that is not about it", 403, "it is refused", "shop"],
    ["a conflict in a namespace that ends", 409, "namespace shop is being terminated", "shop"],
    ["an object of the cluster", 403, "it is being terminated", undefined],
  ])("that is refused is not told elsewhere: %s", async (_, code, message, namespace) => {
    const { lines, tell, verbs } = recorder(() => Object.assign(new Error(message), { code }));
    await tell("Lost", { namespace });
    expect(verbs()).toEqual(["create"]);
    expect(lines).toHaveLength(1);
  });

  test("more than 25 times about other things, waits for five minutes for each", async () => {
    const { clock, events, sent } = recorder();
    const tell = (n: number) => events.record("c", subject, "Normal", "Busy", `${n}`);
    for (let n = 0; n < 30; n++) tell(n);
    expect(sent).toHaveLength(25);
    await clock.advance(299_999);
    tell(100);
    expect(sent).toHaveLength(25);
    await clock.advance(1);
    tell(101);
    tell(102);
    expect(sent).toHaveLength(26);
    await clock.advance(100 * 300_000);
    for (let n = 200; n < 240; n++) tell(n);
    expect(sent).toHaveLength(51);
  });

  test("names are cut to what the API takes", async () => {
    const { sent, events } = recorder();
    events.record("c", subject, "Normal", "R".repeat(200), "note");
    await events.flush();
    expect(sent[0]?.body["reason"]).toHaveLength(128);
  });

  test("of thousands of objects, what is old is forgotten and what is not is not", async () => {
    const { clock, tell, verbs } = recorder();
    await tell("First");
    await clock.advance(10_000);
    for (let n = 0; n < 4_200; n++) await tell("Many", { uid: `u${n}` });
    const before = verbs().length;
    await tell("First");
    expect(verbs()).toHaveLength(before);
  });
});
