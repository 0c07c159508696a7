import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startDialServer } from "../network/dial-server.ts";
import type { Relay } from "../network/relay.ts";
import { startDatagramRelay } from "./datagram-relay.ts";

async function bound(): Promise<Socket> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  return socket;
}

/** Sends, and waits for one answer. */
async function ask(socket: Socket, relay: Relay, text: string): Promise<string> {
  const answer = once(socket, "message");
  socket.send(text, relay.port, "127.0.0.1");
  return String((await answer)[0]);
}

describe("datagrams to a port of the machine", () => {
  let directory: string;
  let dialSocket: string;
  let server: Socket;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "dial-"));
    dialSocket = join(directory, "dial");
    await startDialServer(dialSocket, () => true);
    server = await bound();
    server.on("message", (message, from) => server.send(`${from.port} said ${message}`, from.port));
  });
  afterAll(async () => {
    server.close();
    await rm(directory, { recursive: true, force: true });
  });

  const relayTo = (port: number) =>
    startDatagramRelay({
      listen: { host: "127.0.0.1", port: 0 },
      dialSocket,
      target: { host: "127.0.0.1", port },
    });

  test("reach the server, and each answer finds its sender", async () => {
    const relay = await relayTo(server.address().port);
    const [one, two] = [await bound(), await bound()];
    const first = await ask(one, relay, "hello");
    const second = await ask(two, relay, "hello");
    expect(first).toMatch(/^\d+ said hello$/);
    expect(second).not.toBe(first);
    // A sender keeps its port inside, as a connection over UDP needs it.
    expect(await ask(one, relay, "hello")).toBe(first);
    const long = "x".repeat(20_000);
    expect((await ask(one, relay, long)).endsWith(long)).toBe(true);
    for (const socket of [one, two]) socket.close();
    await relay.close();
  });

  test("find a server that came later than the first of them", async () => {
    const late = await bound();
    const { port } = late.address();
    late.close();
    await once(late, "close");
    const relay = await relayTo(port);
    const client = await bound();
    client.send("lost", relay.port, "127.0.0.1");
    const again = createSocket("udp4").bind(port, "127.0.0.1");
    await once(again, "listening");
    again.on("message", (message, from) => again.send(`heard ${message}`, from.port));
    const answered = once(client, "message");
    const sending = setInterval(() => client.send("still there?", relay.port, "127.0.0.1"), 20);
    expect(String((await answered)[0])).toMatch(/^heard /);
    clearInterval(sending);
    for (const socket of [client, again]) socket.close();
    await relay.close();
  });
});
