// Asks for changes and notes how long each took to arrive.
import { get } from "node:http";
import { cpuMs, report } from "./cost.mjs";

const sentAt = "bench.keelson.dev/sent-at";

/** `see` each changed object; `run` asks for them and reports when all were seen, or none came for two seconds. */
export function latencies(control, events, rate) {
  const times = [];
  let last = performance.now();
  return {
    see(object) {
      const sent = object?.metadata.annotations?.[sentAt];
      if (sent === undefined) return;
      times.push(Number(process.hrtime.bigint() - BigInt(sent)) / 1e6);
      last = performance.now();
    },
    async run() {
      // What the first read of the state set off must not count.
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      const cpu = cpuMs();
      last = performance.now();
      get(`${control}/events?count=${events}&rate=${rate}`, (response) => response.resume());
      while (times.length < events && performance.now() - last < 2_000) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      times.sort((a, b) => a - b);
      const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))];
      report({
        seen: times.length,
        p50Ms: at(0.5),
        p99Ms: at(0.99),
        cpuUsPerEvent: ((cpuMs() - cpu) * 1000) / times.length,
      });
    },
  };
}
