/** The database that scenarios are about, as disturbances and oracles reach it. */
import type { ApiObject } from "@keelson/apiserver";
import { clientName, type World } from "@keelson/testing";
import { SampleDB, type SampleDBObject } from "../../src/api/sampledb.ts";
import type { SimRedis, SimServer } from "./application.ts";
import type { Archive, Dump } from "./files.ts";

export const ref = { namespace: "default", name: "db" };
export type RedisWorld = World<SimRedis>;

/** As it is stored. */
export function databaseIn({ primary }: RedisWorld): SampleDBObject | undefined {
  return primary as unknown as SampleDBObject | undefined;
}

export function isBeingDeleted({ primary }: RedisWorld): boolean {
  return primary?.metadata.deletionTimestamp !== undefined;
}

/** Edits the spec as a user does; what the server refuses does not happen. */
export async function change(world: RedisWorld, spec: object): Promise<void> {
  if (!world.primary || isBeingDeleted(world)) return;
  try {
    await world.client.kind(SampleDB).patch(ref, { type: "merge", body: { spec } as never });
  } catch (error) {
    if ((error as { code?: unknown }).code !== 422) throw error;
    world.note(`refused: ${(error as Error).message.slice(0, 120)}`);
  }
}

export async function annotate(
  world: RedisWorld,
  annotations: Readonly<Record<string, string | null>>,
): Promise<void> {
  if (!world.primary) return;
  const body = { metadata: { annotations } };
  await world.client.kind(SampleDB).patch(ref, { type: "merge", body: body as never });
}

/** Where the Service leads, if a client gets through. */
export function serving(world: RedisWorld): SimServer | undefined {
  const { simulation, application } = world;
  return simulation
    .endpoints(ref.namespace, ref.name)
    .map(({ metadata }) => application.server(metadata.name))
    .find((server) => server?.running && simulation.network.connected(clientName, server.name));
}

/** One value of a Secret. */
export function secretText(world: RedisWorld, secret: string, key: string): string | undefined {
  const { data = {} } = (world.stored.get("secrets", secret, ref.namespace) ?? {}) as {
    data?: Record<string, string>;
  };
  return data[key] === undefined ? undefined : Buffer.from(data[key], "base64").toString();
}

/** What clients know to be written, by key: the last value that was acknowledged. */
export function acknowledgedIn(world: RedisWorld): Map<string, string> {
  const known = world.notes.get("acknowledged") as Map<string, string> | undefined;
  if (known) return known;
  const made = new Map<string, string>();
  world.notes.set("acknowledged", made);
  return made;
}

/** A person agreed to lose data, or asked for data from before. */
export function allowLoss(world: RedisWorld): void {
  world.notes.set("mayHaveLost", true);
}

export interface BackupObject {
  readonly metadata: ApiObject["metadata"];
  readonly status?: { readonly phase?: string; readonly name?: string };
}

export function backupsIn(world: RedisWorld): readonly BackupObject[] {
  return world.stored.list(
    "sampledb.keelson.dev/sampledbbackups",
    ref.namespace,
  ) as unknown as BackupObject[];
}

/** A backup as its store has it; undefined when it is gone from there. */
export function dumpNamed(world: RedisWorld, name: string | undefined): Dump | undefined {
  if (name === undefined) return undefined;
  for (const { data, corrupt } of world.simulation.volumes.all.values())
    if (data instanceof Map && !corrupt && data.has(name)) return (data as Archive).get(name);
  return undefined;
}
