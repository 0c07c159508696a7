import { duplexPair } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { WebSocketConnection } from "@keelson/client/internal/websocket";
import { SeededRandom } from "@keelson/testing/clock";
import { describe, expect, test } from "vitest";
import { openCommandStreams } from "./command-streams.ts";

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
