import { describe, expect, it } from "vitest";
import type { Etcd } from "../engine/etcd.ts";
import { ask } from "./ask.ts";

const deaf = {
  status: (call: { signal: AbortSignal }) =>
    new Promise((_, reject) => call.signal.addEventListener("abort", () => reject(call.signal.reason))),
} as unknown as Etcd;

describe("asking the members", () => {
  it("holds no connection when it is broken off", async () => {
    const open = new Set<string>();
    const { promise: bothOpen, resolve } = Promise.withResolvers<void>();
    const member = (name: string) => ({
      name,
      connect: async () => {
        open.add(name);
        if (open.size === 2) resolve();
        return {
          host: "127.0.0.1",
          port: 1,
          [Symbol.asyncDispose]: async () => {
            open.delete(name);
          },
        };
      },
    });
    const abort = new AbortController();
    const asking = ask([member("a"), member("b")], {
      dial: () => deaf,
      signal: abort.signal,
      readThrough: false,
    });
    await bothOpen;
    abort.abort(new Error("the operator is stopping"));
    await expect(asking).rejects.toThrow("the operator is stopping");
    expect([...open]).toEqual([]);
  });
});
