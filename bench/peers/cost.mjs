// What a piece of work cost this process: time, CPU, memory, and how long the event loop was held up. Plain
// JavaScript, like all that runs beside what is measured: loading TypeScript would count as memory.
import { readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

/** CPU of this process since it started, in ms. */
export function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * Begins to measure; the returned function ends it. A stall is told twice: as the clock saw it, which on a busy machine
 * is mostly other processes, and as the CPU that the event loop's thread took in one go.
 */
export function measure() {
  const monitor = monitorEventLoopDelay({ resolution: 1 });
  monitor.enable();
  let longestBusyMs = 0;
  let last = threadMs();
  const tick = () => {
    const now = threadMs();
    longestBusyMs = Math.max(longestBusyMs, now - last);
    last = now;
  };
  const ticking = setInterval(tick, 1);
  const cpu = cpuMs();
  const began = performance.now();
  return () => {
    monitor.disable();
    tick();
    clearInterval(ticking);
    const ms = performance.now() - began;
    return { ms, cpuMs: cpuMs() - cpu, longestStallMs: monitor.max / 1e6, longestBusyMs };
  };
}

function threadMs() {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Bytes of shared buffers that are in use; Node does not count them. */
let sharedBytes = 0;
const freed = new FinalizationRegistry((bytes) => {
  sharedBytes -= bytes;
});
globalThis.SharedArrayBuffer = class extends SharedArrayBuffer {
  constructor(length, options) {
    super(length, options);
    sharedBytes += length;
    freed.register(this, length);
  }
};

/** Heap and buffers in use after a collection, in bytes. */
export function inUse() {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external + sharedBytes;
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
