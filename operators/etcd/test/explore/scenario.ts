/** Scenarios with happenings of their own, played as the explorer plays generated ones: with its oracles. */
import { Beginnings, type Played, replay, type Subject } from "@keelson/testing";
import { EtcdCluster } from "../../src/api/cluster.ts";
import type { SimEtcd } from "../simulation/etcd.ts";
import { type EtcdWorld, etcdSubject, ref, type SubjectOptions } from "./subject.ts";

/** What happens, and when. */
export type Happening = readonly [atMs: number, what: (world: EtcdWorld) => void | Promise<void>];

const subject = etcdSubject();
const beginnings = new Beginnings(subject);

export interface ScenarioOptions extends SubjectOptions {
  readonly convergeMs?: number;
  /** Called at the end, with what is left. */
  readonly onEnd?: (world: EtcdWorld) => void;
}

/** Plays it, and throws when an oracle is violated. */
export async function scenario(
  beginning: string,
  happenings: readonly Happening[],
  options: ScenarioOptions = {},
): Promise<Played> {
  const edits = happenings.map(([, begin], i) => ({ name: `happening ${i}`, begin }));
  const { onEnd, decide, ...rest } = options;
  const own: Subject<SimEtcd> = { ...(decide ? etcdSubject({ decide }) : subject), edits };
  const steps = happenings.map(([atMs], i) => ({ atMs, do: `happening ${i}` }));
  return await replay(
    own,
    { beginning, seed: 1, steps },
    { ...rest, beginnings, ...(onEnd && { onEnd: (world) => onEnd(world as unknown as EtcdWorld) }) },
  );
}

/** It must converge soon after the last happening. */
export const healed = { convergeMs: 120_000 };

export const named = (name: string) => ({ namespace: ref.namespace, name });

export const spec = (change: object) => async (world: EtcdWorld) => {
  await world.client.kind(EtcdCluster).patch(ref, { type: "merge", body: { spec: change } as never });
};

/** The same happens to every pod. */
export const each =
  (happen: (name: string) => (world: EtcdWorld) => Promise<void>) =>
  async (world: EtcdWorld): Promise<void> => {
    for (const { metadata } of world.pods) await happen(metadata.name)(world);
  };

export const condition =
  (check: (world: EtcdWorld) => void) =>
  async (world: EtcdWorld): Promise<void> =>
    check(world);
