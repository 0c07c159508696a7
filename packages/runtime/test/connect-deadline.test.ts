/** A connection that does not come about does not hold up a reconcile. */
import { type Connector, controller, done } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const Site = resource({ group: "example.com", kind: "Site", version: "v1", spec: z.object({}) });
const ref = { namespace: "default", name: "one" };

/** What each try to connect came to, and when. */
async function triesOf(connect: Connector) {
  const tries: { readonly error: unknown; readonly afterMs: number }[] = [];
  const site = controller(Site, {
    async reconcile(_, ctx) {
      const sinceMs = ctx.clock.monotonic();
      const error = await ctx.connect({ pod: { name: "db-0" } }, 5432).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      tries.push({ error, afterMs: ctx.clock.monotonic() - sinceMs });
      return done();
    },
  });
  const running = await cluster({ controllers: [site], connect });
  await running.client.kind(Site).create({ metadata: ref, spec: {} });
  return { running, tries };
}

test("a pod that swallows packets is given up after 10 s", async () => {
  const signals: AbortSignal[] = [];
  const { running, tries } = await triesOf(async (_target, _port, { signal }) => {
    signals.push(signal);
    return await new Promise<never>(() => {});
  });
  await using _ = running;
  await running.advance(9_900);
  expect(tries).toEqual([]);
  await running.advance(200);
  expect(tries).toEqual([
    {
      error: expect.objectContaining({
        code: "Unreachable",
        message: "cannot connect to port 5432 of Pod db-0: no answer within 10 s",
      }),
      afterMs: 10_000,
    },
  ]);
  // What was begun is told to end.
  expect(signals[0]?.aborted).toBe(true);
});

test("a connection that comes after that is closed", async () => {
  const come = Promise.withResolvers<void>();
  let closed = 0;
  const { running, tries } = await triesOf(async (_, port) => {
    await come.promise;
    return {
      host: "10.0.0.7",
      port,
      [Symbol.asyncDispose]: async () => {
        closed++;
      },
    };
  });
  await using _ = running;
  await running.advance(11_000);
  expect(tries).toHaveLength(1);
  expect(closed).toBe(0);
  come.resolve();
  await running.settle();
  expect(closed).toBe(1);
});
