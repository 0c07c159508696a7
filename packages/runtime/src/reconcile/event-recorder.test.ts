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
