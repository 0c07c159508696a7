/** A Database that is paused while a pass waits for an agent that does not answer. */
import { Beginnings, operatorName, replay, type Subject, type World } from "@keelson/testing";
import { Pod } from "keelson/kinds";
import { expect, test } from "vitest";
import { Database } from "../src/api/database.ts";
import type { SimPostgres } from "./explore/application.ts";
import { subject } from "./explore/index.ts";

type DatabaseWorld = World<SimPostgres>;
const { ref } = subject;
const named = (name: string) => ({ namespace: ref.namespace, name });

/** What happens, and when. */
async function scenario(
  happenings: readonly (readonly [number, (world: DatabaseWorld) => Promise<void>])[],
): Promise<void> {
  const edits = happenings.map(([, begin], i) => ({ name: `happening ${i}`, begin }));
  const own: Subject<SimPostgres> = { ...subject, edits };
  const steps = happenings.map(([atMs], i) => ({ atMs, do: `happening ${i}` }));
  const beginnings = new Beginnings(subject);
  await replay(own, { beginning: "three instances", seed: 1, steps }, { beginnings });
}

async function change(world: DatabaseWorld, spec: object): Promise<void> {
  await world.client.kind(Database).patch(ref, { type: "merge", body: { spec } as never });
}

const missing = "orders-1";
const isThere = (world: DatabaseWorld) => world.stored.get("pods", missing, ref.namespace) !== undefined;

test("that pass makes no pod, and it is made afterwards", { timeout: 120_000 }, async () => {
  let restore = () => {};
  await scenario([
    [
      0,
      async (world) => {
        const { network } = world.simulation;
        const { intercept } = network;
        restore = network.impair({ from: operatorName, to: "orders-2", how: "dropped" });
        // The pass that asks now makes the pod again when it has waited.
        network.intercept = (call) => {
          if (call.from === operatorName && !isThere(world)) {
            network.intercept = intercept;
            world.note("paused");
            void change(world, { paused: true });
          }
          return intercept(call);
        };
        await world.client.kind(Pod).delete(named(missing), { gracePeriodSeconds: 0 });
      },
    ],
    [
      30_000,
      async (world) => {
        expect(world.trace.some(({ text }) => text === "paused")).toBe(true);
        expect(isThere(world)).toBe(false);
        restore();
        await change(world, { paused: false });
      },
    ],
  ]);
});
