// Asks for changes and notes how long each took to arrive.
import { get } from "node:http";
import { cpuMs, report } from "./cost.mjs";

const sentAt = "bench.keelson.dev/sent-at";

/** `see` each changed object; `run` asks for changes and reports when all were seen, or none came for two seconds. */
export function latencies(control, events, rate) {
  let times = [];
  let last = performance.now();
  const ask = async (count) => {
    times = [];
    last = performance.now();
    get(`${control}/events?count=${count}&rate=${rate}`, (response) => response.resume());
    while (times.length < count && performance.now() - last < 2_000) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  return {
    see(object) {
      const sent = object?.metadata.annotations?.[sentAt];
      if (sent === undefined) return;
      times.push(Number(process.hrtime.bigint() - BigInt(sent)) / 1e6);
      last = performance.now();
    },
    async run() {
      // What the first read of the state set off must not count, nor the compilation of what events run through.
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await ask(Math.ceil(events / 2));
      const cpu = cpuMs();
      await ask(events);
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
