/** Convergence as an assertion: everything comes to rest, stays there, and is what was asked for. */

import type { Client } from "@keelson/client";
import { type Condition, findCondition, groupKind, objectKey, type Stored } from "@keelson/core";
import type { AnyController, Controller } from "@keelson/runtime";
import type { Manager } from "./manager.ts";
import { describeWrite, type ObservedRequest } from "./observed-request.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** When a cluster counts as converged. */
export interface ConvergeOptions {
  /** Writes allowed while everything is looked at again. Default: 0. */
  readonly writesWhenIdle?: number;
  /** Virtual time to come to rest. Default: 1 hour. */
  readonly withinMs?: number;
  /** Without writes for this long it is at rest. Default: 1 minute. */
  readonly quietMs?: number;
  /** How often everything is looked at again. Default: once. */
  readonly resyncs?: number;
  /** Demands Ready=True, for the current generation, of every object that a controller keeps. Default: true. */
  readonly ready?: boolean;
}

/** What convergence looks at in a cluster. */
export interface Convergent {
  readonly seed: number;
  readonly clock: VirtualClock;
  readonly client: Client;
  readonly managers: readonly Manager[];
  readonly writes: readonly ObservedRequest[];
  advance(ms: number): Promise<void>;
}

export async function converge(
  cluster: Convergent,
  controllers: readonly AnyController[],
  options: ConvergeOptions = {},
): Promise<void> {
  const { withinMs = 3_600_000, quietMs = 60_000, writesWhenIdle = 0, resyncs = 1 } = options;
  await rest(cluster, withinMs, quietMs);
  if (options.ready !== false) await demandReady(cluster, controllers);
  for (let round = 1; round <= resyncs; round++) {
    const before = cluster.writes.length;
    for (const manager of cluster.managers) manager.resync();
    await cluster.advance(quietMs);
    const extra = cluster.writes.slice(before);
    if (extra.length > writesWhenIdle) {
      throw new Error(
        `at rest, looking at everything again sent ${extra.length} writes where ${writesWhenIdle} are allowed ` +
          `(seed ${cluster.seed}):\n${listed(extra)}`,
      );
    }
  }
}

async function rest(cluster: Convergent, withinMs: number, quietMs: number): Promise<void> {
  const { clock } = cluster;
  const startedAt = clock.monotonic();
  for (;;) {
    const failure = cluster.managers.find((manager) => manager.failure)?.failure;
    if (failure)
      throw new Error(`a manager failed (seed ${cluster.seed}): ${failure.message}`, { cause: failure });
    const before = cluster.writes.length;
    await clock.advance(quietMs);
    const running = cluster.managers.length > 0 && cluster.managers.every((manager) => manager.running);
    const working = cluster.managers.some((manager) => manager.running?.leading && !manager.idle);
    if (running && !working && cluster.writes.length === before) return;
    if (clock.monotonic() - startedAt > withinMs) {
      const why = !running
        ? "no manager has started"
        : `these were the last writes:\n${listed(cluster.writes.slice(-10))}`;
      throw new Error(
        `nothing came to rest within ${withinMs / 1000} s of virtual time (seed ${cluster.seed}): ${why}`,
      );
    }
  }
}

async function demandReady(cluster: Convergent, controllers: readonly AnyController[]): Promise<void> {
  for (const controller of controllers) {
    if (!keepsStatus(controller)) continue;
    const { items } = await cluster.client.kind(controller.kind).list();
    for (const item of items as unknown as Stored[]) {
      const problem = unready(
        item as Stored & { status?: { conditions?: Condition[]; observedGeneration?: number } },
      );
      if (problem === undefined) continue;
      throw new Error(
        `${groupKind(controller.kind)} ${objectKey(item)} came to rest and ${problem} (seed ${cluster.seed})`,
      );
    }
  }
}

function keepsStatus(controller: AnyController): controller is Controller {
  return "options" in controller && "kind" in controller && controller.options.status !== "manual";
}

function unready(object: Stored & { status?: { conditions?: Condition[]; observedGeneration?: number } }) {
  const ready = findCondition(object.status?.conditions, "Ready");
  if (!ready) return "has no Ready condition";
  if (ready.status !== "True") return `is not ready: ${ready.reason}: ${ready.message}`;
  const { generation } = object.metadata;
  return object.status?.observedGeneration === generation
    ? undefined
    : `its status speaks of generation ${object.status?.observedGeneration}, not of ${generation}`;
}

function listed(writes: readonly ObservedRequest[]): string {
  return writes.map((write) => `  ${describeWrite(write)}`).join("\n");
}
