import { duplexPair } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { WebSocketConnection } from "@keelson/client/internal/websocket";
import { SeededRandom } from "@keelson/testing/clock";
import { describe, expect, test } from "vitest";
import type { RunningContainer } from "../kubelet/pod-containers.ts";
import { openCommandStreams, type StreamRequest } from "./command-streams.ts";
import { forwardedPorts } from "./port-forward.ts";
import { runAttach } from "./remote-command.ts";

describe("the streams of a command over a WebSocket", () => {
  test("everything that was written comes before the end, however slowly it is read", async () => {
    const [here, there] = duplexPair();
    const request = { stdin: false, stdout: true, stderr: true, tty: false };
    const streams = await openCommandStreams(
      { kind: "websocket", protocol: "v4.channel.k8s.io", stream: here },
      request,
    );
    const client = new WebSocketConnection(there, { role: "client", random: new SeededRandom(1) });
    // As a command that writes faster than its reader reads, and ends.
    for (let piece = 0; piece < 40; piece++) streams.stdout?.write(Buffer.alloc(25_000, "x"));
    streams.stderr?.write("complaint");
    const finished = streams.finish({ exitCode: 0 });
    const heard = { stdout: 0, stderr: 0, afterEnd: 0 };
    let ended = false;
    for await (const { data } of client) {
      await nextTurn();
      if (ended) heard.afterEnd++;
      if (data[0] === 1) heard.stdout += data.length - 1;
      if (data[0] === 2) heard.stderr += data.length - 1;
      if (data[0] === 3) ended = true;
    }
    await finished;
    expect({ ...heard, ended }).toEqual({ stdout: 1_000_000, stderr: 9, afterEnd: 0, ended: true });
  });
});

describe("a client that takes or gives too much", () => {
  const open = async (request: StreamRequest) => {
    const [here, there] = duplexPair();
    const upgrade = { kind: "websocket", protocol: "v4.channel.k8s.io", stream: here } as const;
    const client = new WebSocketConnection(there, { role: "client", random: new SeededRandom(1) });
    return { client, streams: await openCommandStreams(upgrade, request), stream: here };
  };
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn++) await nextTurn();
  };

  test("writes no further than a command reads", async () => {
    const { client, streams } = await open({ stdin: true, stdout: false, stderr: false, tty: false });
    let sent = 0;
    const piece = Buffer.concat([Buffer.from([0]), Buffer.alloc(64 * 1024, "x")]);
    const sending = (async () => {
      for (; sent < 200; sent++) await client.send(piece);
    })();
    await turns(100);
    expect(sent).toBeLessThan(10);
    let read = 0;
    for await (const chunk of streams.stdin ?? []) {
      read += (chunk as Buffer).length;
      if (read === 200 * 64 * 1024) break;
    }
    await sending;
  });

  test("is let go when it attaches and does not read", async () => {
    const { streams, stream } = await open({ stdin: false, stdout: true, stderr: false, tty: false });
    const exited = Promise.withResolvers<never>();
    const listeners = new Set<(stream: "stdout" | "stderr", chunk: Buffer) => void>();
    const handle = { exited: exited.promise, resize: async () => undefined, stdin: undefined };
    const running = { handle, record: { spec: {} }, listeners } as unknown as RunningContainer;
    const attached = runAttach(running, { stdin: false, stdout: true, stderr: false, tty: false }, streams);
    let written = 0;
    for (; listeners.size > 0 && written < 100; written++) {
      for (const listener of listeners) listener("stdout", Buffer.alloc(1024 * 1024));
      await nextTurn();
    }
    await attached;
    expect(written).toBeLessThan(10);
    expect(stream.destroyed).toBe(true);
  });
});

describe("ports to forward", () => {
  test("are numbers of ports", () => {
    expect(forwardedPorts(["80,443", "8080"])).toEqual([80, 443, 8080]);
    for (const bad of ["", "0", "65536", "http", "80,,81", "1e3", " 80"]) {
      expect(() => forwardedPorts([bad])).toThrow("invalid port");
    }
    expect(() => forwardedPorts([Array(129).fill("80").join(",")])).toThrow("at most 128 ports");
  });
});
