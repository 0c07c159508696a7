/**
 * `npm run fuzz`: sends random requests to an API server and looks for crashes, faults and growth.
 */

import { commandLine } from "../../scripts/command-line.ts";
import { fuzz } from "./fuzz.ts";
import { startProcess } from "./server.ts";

const values = commandLine({
  command: "npm run fuzz",
  does: "Sends random requests to an API server and looks for crashes, faults and growth.",
  options: {
    minutes: { number: "N", default: 1, help: "how long" },
    seed: { number: "S", help: "of the requests (default: a random one, which is printed)" },
    clients: { number: "N", default: 8, help: "clients at a time" },
  },
});
const seed = values.seed ?? Math.floor(Math.random() * 2 ** 31);

const say = (line: string) => console.error(line);
const result = await fuzz({
  start: startProcess,
  durationMs: values.minutes * 60_000,
  seed,
  clients: values.clients,
  say,
});
const statuses = [...result.statuses]
  .sort(([a], [b]) => a - b)
  .map(([status, count]) => `${status}: ${count}`);
console.log(`seed ${seed}: ${result.requests} requests to ${result.targets} operations`);
console.log(`answers ${statuses.join(", ")}`);
console.log(`memory ${result.warmMb.toFixed(0)} MB when warm, ${result.endMb.toFixed(0)} MB at the end`);
for (const { fault, count, example } of result.faults)
  console.log(`\nFAULT ${count} times: ${fault}\n  ${example}`);
console.log(result.faults.length === 0 ? "no faults" : `${result.faults.length} kinds of faults`);
process.exitCode = result.faults.length === 0 ? 0 : 1;
