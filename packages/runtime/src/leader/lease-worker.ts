/** The thread that holds the lease. It shares two numbers with the working thread and nothing else. */

import { parentPort, workerData } from "node:worker_threads";
import { connect } from "@keelson/client";
import { systemProcess } from "@keelson/client/internal";
import { type Clock, systemRandom } from "@keelson/core";
import type { Logger } from "../log/logger.ts";
import { collectOnceAtRest, thisProcess } from "../memory/rest.ts";
import { SharedFence } from "./fence.ts";
import { LeaseElector } from "./lease.ts";
import { type LeaseThreadData, type LeaseThreadMessage, threadClock } from "./lease-thread.ts";

const data = workerData as LeaseThreadData;
const tell = (message: LeaseThreadMessage) => parentPort?.postMessage(message);
const telling = (level: "info" | "warn" | "error"): Logger["info"] => {
  return (message, fields) => {
    const error = fields?.error;
    tell({ type: "log", level, message, ...(error instanceof Error ? { error: error.message } : {}) });
  };
};
const log: Logger = {
  debug: () => {},
  info: telling("info"),
  warn: telling("warn"),
  error: telling("error"),
  child: () => log,
};

/** Timers of this thread keep it alive: it ends when it is told to. */
const clock: Clock = {
  ...threadClock,
  timer(delayMs, run) {
    const timer = setTimeout(run, Math.max(0, delayMs));
    return () => clearTimeout(timer);
  },
};

const client = await connect({
  ...data.connect,
  world: { clock, random: systemRandom, process: systemProcess },
});
const elector = new LeaseElector({
  client,
  clock,
  random: systemRandom,
  name: data.name,
  namespace: data.namespace,
  identity: data.identity,
  timings: data.timings,
  fence: new SharedFence(threadClock, data.fence),
  log,
});
elector.run();
void elector.acquired.then(() => tell({ type: "acquired" }));
void elector.lost.then((error) => tell({ type: "lost", message: error.message }));

/**
 * Loading and connecting left more than half of this thread's memory behind; from here on it hardly makes any. The first burst
 * of work comes first.
 */
const resting = thisProcess();
if (resting) collectOnceAtRest(resting);

const heartbeat = new Float64Array(data.heartbeat);
let holder: string | undefined;
let troubled = false;
/** Often enough for a test with a short lease, and seldom enough to cost nothing. */
const watchEveryMs = Math.min(1_000, data.hangMs / 20);
const watchdog = setInterval(() => {
  if (elector.holder !== holder) {
    holder = elector.holder;
    tell({ type: "holder", holder });
  }
  const { problem } = elector;
  if (problem || troubled) tell({ type: "problem", problem });
  troubled = problem !== undefined;
  const silentMs = threadClock.monotonic() - (heartbeat[0] ?? 0);
  if (elector.leading && silentMs > data.hangMs) {
    log.error(`the working thread has not moved for ${Math.round(silentMs / 1000)} s: giving the lease away`);
    void end();
  }
}, watchEveryMs);

parentPort?.once("message", (options: { readonly keep?: boolean }) => void end(options));

async function end(options: { readonly keep?: boolean } = {}): Promise<void> {
  clearInterval(watchdog);
  await elector.stop(options);
  await client.close();
  tell({ type: "stopped" });
  parentPort?.close();
}
