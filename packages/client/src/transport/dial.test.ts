import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { createSecureContext } from "node:tls";
import { expect, it } from "vitest";
import { dial } from "./dial.ts";
import { parseServer } from "./server-address.ts";

it("gives a server up that accepts and never speaks TLS, without an error that nobody hears", async () => {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection");
  let expire = () => {};
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    timer: (_ms: number, run: () => void) => {
      expire = run;
      return () => {};
    },
  };
  const unheard: Error[] = [];
  const listener = (error: Error) => unheard.push(error);
  process.on("uncaughtException", listener);
  const dialled = dial({
    server: parseServer(`https://127.0.0.1:${(server.address() as AddressInfo).port}`),
    clock,
    secureContext: createSecureContext(),
  } as Parameters<typeof dial>[0]);
  await accepted;
  await new Promise((resolve) => setImmediate(resolve));
  expire();
  await expect(dialled).rejects.toThrow("no answer within 10000 ms");
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.off("uncaughtException", listener);
  server.close();
  expect(unheard).toEqual([]);
});
