/**
 * Sends random requests to an API server and looks for crashes, faults and growth:
 * `npm run fuzz -- [--minutes N] [--seed S] [--clients C]`.
 */
import { parseArgs } from "node:util";
import { fuzz } from "./fuzz.ts";
import { startProcess } from "./server.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    clients: { type: "string", default: "8" },
  },
});

const say = (line: string) => console.error(line);
const result = await fuzz({
  start: startProcess,
  durationMs: Number(values.minutes) * 60_000,
  seed: Number(values.seed),
  clients: Number(values.clients),
  say,
});
const statuses = [...result.statuses]
  .sort(([a], [b]) => a - b)
  .map(([status, count]) => `${status}: ${count}`);
console.log(`seed ${values.seed}: ${result.requests} requests to ${result.targets} operations`);
console.log(`answers ${statuses.join(", ")}`);
console.log(`memory ${result.warmMb.toFixed(0)} MB when warm, ${result.endMb.toFixed(0)} MB at the end`);
for (const { fault, count, example } of result.faults)
  console.log(`\nFAULT ${count} times: ${fault}\n  ${example}`);
console.log(result.faults.length === 0 ? "no faults" : `${result.faults.length} kinds of faults`);
process.exitCode = result.faults.length === 0 ? 0 : 1;
