/** The way in which a bench's client asks for changes, apart from the server that it follows. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Calls `change` `count` times, `rate` per second, whenever a client asks for it. Resolves with the port. */
export async function serveControl(change: (index: number) => void): Promise<number> {
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? "/", "http://localhost");
    void emit(Number(searchParams.get("count")), Number(searchParams.get("rate"))).then(() => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;

  async function emit(count: number, rate: number): Promise<void> {
    const everyMs = 1_000 / rate;
    const began = performance.now();
    for (let sent = 0; sent < count; ) {
      const due = Math.min(count, Math.floor((performance.now() - began) / everyMs) + 1);
      for (; sent < due; sent++) change(sent);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}
