/** Scenarios with happenings of their own, played as the explorer plays generated ones: with its oracles. */
import { Beginnings, type Played, replay, type Subject } from "@keelson/testing";
import type { SimRedis } from "./application.ts";
import type { RedisWorld } from "./database.ts";
import { subject } from "./subject.ts";

/** What happens, and when. */
export type Happening = readonly [atMs: number, what: (world: RedisWorld) => void | Promise<void>];

const beginnings = new Beginnings(subject);

/** Plays it, and throws when an oracle is violated. */
export async function scenario(
  beginning: string,
  happenings: readonly Happening[],
  options: { readonly convergeMs?: number } = {},
): Promise<Played> {
  const edits = happenings.map(([, begin], i) => ({ name: `happening ${i}`, begin }));
  const own: Subject<SimRedis> = { ...subject, edits };
  const steps = happenings.map(([atMs], i) => ({ atMs, do: `happening ${i}` }));
  return await replay(own, { beginning, seed: 1, steps }, { ...options, beginnings });
}
