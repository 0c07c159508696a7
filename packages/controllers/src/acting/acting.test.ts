import { ApiError } from "@keelson/client";
import type { Status } from "@keelson/core";
import { expect, test } from "vitest";
import { type Acting, serverMessage, yieldingToOthers } from "./acting.ts";

const refusal = (code: number, reason: string, causes: { reason: string }[] = []) =>
  new ApiError({ kind: "Status", code, reason, message: "no", details: { causes } } as Status, {
    doing: "test",
  });

function run(errors: (Error | undefined)[]): Promise<(number | undefined)[]> {
  const queue = [...errors];
  const reconcile = yieldingToOthers(async () => {
    const error = queue.shift();
    if (error) throw error;
  });
  return errors.reduce<Promise<(number | undefined)[]>>(async (before, _error) => {
    const waits = await before;
    let wait: number | undefined;
    const acting = {
      log: { debug: () => {} },
      random: { next: () => 0 },
      recheck: (ms: number) => {
        wait = ms;
      },
    } as unknown as Acting;
    await reconcile("key", acting);
    return [...waits, wait];
  }, Promise.resolve([]));
}

test("a lost race is run again soon, and later the more often it is lost", async () => {
  const conflict = refusal(409, "Conflict");
  expect(await run([conflict, conflict, undefined, conflict])).toEqual([20, 40, undefined, 20]);
});

test("a namespace on its way out ends the matter", async () => {
  expect(await run([refusal(403, "Forbidden", [{ reason: "NamespaceTerminating" }])])).toEqual([undefined]);
});

test("other failures are thrown on", async () => {
  await expect(run([refusal(422, "Invalid")])).rejects.toThrow("no");
});

test("the server's words are quoted without ours", () => {
  expect(serverMessage(refusal(403, "Forbidden"))).toBe("no");
});
