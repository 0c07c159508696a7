/** Looks every second whether the status of a cluster is true. */
import { setTimeout as sleep } from "node:timers/promises";
import type { EtcdClusterObject } from "@keelson/etcd-operator";
import type { Bench } from "./bench.ts";
import { type Connections, read } from "./client.ts";
import { type Look, Statements } from "./statements.ts";

export interface StatementWatch extends AsyncDisposable {
  /** Resolves with what was not true, as sentences. */
  stop(): Promise<readonly string[]>;
}

export function watchStatements(bench: Bench): StatementWatch {
  const statements = new Statements();
  const connections = bench.world.connections();
  const beganMs = bench.load.ledger.now;
  let stopped = false;
  const watching = (async () => {
    while (!stopped) {
      await sleep(1_000);
      statements.look(await lookAt(bench, connections, beganMs));
    }
  })();
  const stop = async () => {
    stopped = true;
    await watching;
    connections.close();
    return statements.untrue;
  };
  return { stop, [Symbol.asyncDispose]: async () => void (await stop()) };
}

async function lookAt(bench: Bench, connections: Connections, beganMs: number): Promise<Look | undefined> {
  const { world, name, load } = bench;
  const object = await world.get(name).catch(() => undefined);
  if (!object) return undefined;
  const [answers, there] = await Promise.all([
    answersNow(bench, connections),
    volumesThere(bench, object).catch(() => undefined),
  ]);
  if (there === undefined) return undefined;
  const { now, latestMs = beganMs } = load.ledger;
  return {
    atMs: now,
    conditions: object.status?.conditions ?? [],
    isMeantToServe: !object.spec.hibernate && object.metadata.deletionTimestamp === undefined,
    writtenMs: latestMs,
    answers,
    volumes: { named: object.status?.members?.length ?? 0, there },
  };
}

/** Asks every member that runs, also those that no client would be sent to, for what only a majority can vouch for. */
async function answersNow({ world, name, load }: Bench, connections: Connections): Promise<boolean> {
  const asked = world.running(name).map((to) => read(connections, to, load.key(0)));
  return await Promise.any(asked).then(
    () => true,
    () => false,
  );
}

/** How many members that the status names have a volume that nobody has deleted. */
async function volumesThere({ world, name }: Bench, { status }: EtcdClusterObject): Promise<number> {
  const claims = (await world.claims(name)).filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  );
  const there = new Set(claims.map(({ metadata }) => metadata.name));
  return (status?.members ?? []).filter((member) => there.has(member.name)).length;
}
