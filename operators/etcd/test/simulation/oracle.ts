/** What must be true of a cluster that has come to rest, in absolute terms. */
import { PersistentVolumeClaim, Pod, PodDisruptionBudget, Service } from "keelson/kinds";
import { expect } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { majority } from "../../src/engine/quorum.ts";
import { ref, type World } from "./world.ts";

export interface Rest {
  readonly size: number;
  readonly version: string;
}

/** Everything comes to rest, and looking again changes nothing. */
export async function rests(world: World, options: { readonly ready?: boolean } = {}): Promise<void> {
  // The newest revision is noted once a minute: the last note is not part of the rest.
  await world.cluster.advance(61_000);
  await world.cluster.converges({ withinMs: 900_000, quietMs: 12_000, resyncs: 1, ...options });
}

/** Comes to rest within the time, stays there without a write, and is exactly what was asked for. */
export async function restsAt(world: World, { size, version }: Rest): Promise<void> {
  await rests(world);
  world.verify();
  const { status, metadata } = await world.get();
  expect(status?.observedGeneration).toBe(metadata.generation);
  expect(condition(status, "Available")).toBe("True");
  expect(condition(status, "Degraded")).toBe("False");
  expect(condition(status, "Progressing")).toBe("False");
  expect(status?.phase).toBe("Running");
  expect(status?.readyMembers).toBe(size);
  expect(status?.rollout).toBeUndefined();
  expect(status?.recovery).toBeUndefined();
  const records = status?.members ?? [];
  expect(records.map(({ phase, ready, version: runs }) => ({ phase, ready, runs }))).toEqual(
    Array.from({ length: size }, () => ({ phase: "Voter", ready: true, runs: version })),
  );
  expect(records.filter(({ role }) => role === "Leader").map(({ name }) => name)).toEqual([status?.leader]);
  const names = records.map(({ name }) => name).sort();
  await objectsAre(world, names, status?.template?.hash ?? "");
  const members = [...world.etcd.group.members().values()];
  expect(members.map(({ name }) => name).sort()).toEqual(names);
  expect(members.filter(({ learner }) => learner)).toEqual([]);
  expect(members.map(({ id }) => BigInt(id).toString(16)).sort()).toEqual(records.map(({ id }) => id).sort());
}

async function objectsAre(world: World, names: readonly string[], template: string): Promise<void> {
  const { client } = world.cluster;
  const pods = (await client.kind(Pod).list(ref)).items;
  expect(pods.map(({ metadata }) => metadata.name).sort()).toEqual(names);
  for (const { metadata } of pods) {
    expect(metadata.labels?.[labels.role]).toBe("voter");
    expect(metadata.annotations?.[annotations.template]).toBe(template);
    expect(metadata.annotations?.[annotations.initialClusterState]).toBe("existing");
    expect(metadata.annotations?.[annotations.initialCluster]).not.toContain(",");
    expect(metadata.annotations?.[annotations.forceNewCluster]).toBe("false");
  }
  const claims = (await client.kind(PersistentVolumeClaim).list(ref)).items.filter(
    ({ metadata }) => metadata.annotations?.[annotations.fenced] === undefined,
  );
  expect(claims.map(({ metadata }) => metadata.name).sort()).toEqual(names);
  for (const { metadata } of claims) expect(metadata.annotations?.[annotations.memberId]).toBeDefined();
  const budget = await client.kind(PodDisruptionBudget).get(ref);
  expect(budget.spec?.minAvailable).toBe(majority(names.length));
  expect(
    (await client.kind(Service).list({ ...ref, labels: labels.instance })).items
      .map(({ metadata }) => metadata.name)
      .sort(),
  ).toEqual(["example", "example-client"]);
}

interface Conditions {
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
  }[];
}

export function condition(status: Conditions | undefined, type: string): string | undefined {
  return status?.conditions?.find((each) => each.type === type)?.status;
}

export function reasonOf(status: Conditions | undefined, type: string): string | undefined {
  return status?.conditions?.find((each) => each.type === type)?.reason;
}
