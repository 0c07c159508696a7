import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { socketDialer } from "./socket-dialer.ts";

const never = new AbortController().signal;

test.each(["127.0.0.1", "169.254.1.1", "::1", "no address"])("%s is no pod's", async (host) => {
  await expect(socketDialer.dial(host, 80, never)).rejects.toThrow("address not allowed");
});

test("what is on no network of the machine is not sent to its router", async () => {
  await expect(socketDialer.dial("203.0.113.7", 80, never)).rejects.toThrow(
    "no network of this machine has 203.0.113.7",
  );
});

test("what is on one is reached", async ({ skip }) => {
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const host = own.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
  if (host === undefined) skip("this machine has loopback only");
  const server = createServer((socket) => socket.end("here")).listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const connection = await socketDialer.dial(host as string, port, never);
  expect(String((await once(connection, "data"))[0])).toBe("here");
  server.close();
});
