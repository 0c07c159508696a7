// What a piece of work cost this process: time, CPU, memory, and how long the event loop was held up. Plain
// JavaScript, like all that runs beside what is measured: loading TypeScript would count as memory.
import { readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

/** CPU of this process since it started, in ms. */
export function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Begins to measure; the returned function ends it. */
export function measure() {
  const monitor = monitorEventLoopDelay({ resolution: 1 });
  monitor.enable();
  const cpu = cpuMs();
  const began = performance.now();
  return () => {
    monitor.disable();
    return { ms: performance.now() - began, cpuMs: cpuMs() - cpu, longestStallMs: monitor.max / 1e6 };
  };
}

/** Heap and buffers in use after a collection, in bytes. */
export function inUse() {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

export function peakRssMb() {
  return status("VmHWM");
}

export function rssMb() {
  return status("VmRSS");
}

function status(field) {
  const line = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync("/proc/self/status", "utf8"));
  return Number(line?.[1] ?? 0) / 1024;
}

/** Prints the figures as one line of JSON and ends the process. */
export function report(figures) {
  console.log(JSON.stringify(figures));
  process.exit(0);
}
