/** What following a kind cost: time, CPU, memory, and how long the event loop was held up. */
import { readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

export interface SyncCost {
  readonly importCpuMs: number;
  readonly syncMs: number;
  readonly cpuMs: number;
  readonly longestStallMs: number;
  readonly peakRssMb: number;
  /** Heap and buffers in use after a collection, above what the process had before it began. */
  readonly retainedMb: number;
}

export interface Stalls {
  longestMs(): number;
  readonly heapBefore: number;
}

export function watchStalls(): Stalls {
  const monitor = monitorEventLoopDelay({ resolution: 1 });
  monitor.enable();
  return { longestMs: () => monitor.max / 1e6, heapBefore: inUse() };
}

export function cpuMs({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1000;
}

/** Prints the cost as one line of JSON and ends the process. `keep` holds the cache until memory was read. */
export function finish(result: {
  importCpuMs: number;
  syncMs: number;
  cpuMs: number;
  stalls: Stalls;
  keep: unknown;
}): never {
  const longestStallMs = result.stalls.longestMs();
  const peakRssMb = Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? 0) / 1024;
  const retainedMb = (inUse() - result.stalls.heapBefore) / 2 ** 20;
  const { importCpuMs, syncMs, cpuMs: cpu } = result;
  const cost: SyncCost = { importCpuMs, syncMs, cpuMs: cpu, longestStallMs, peakRssMb, retainedMb };
  console.log(JSON.stringify(cost));
  process.exit(result.keep === undefined ? 1 : 0);
}

function inUse(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
