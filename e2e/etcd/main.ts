/**
 * Breaks real etcd clusters in every way that the operator promises to mend, under load, and prints what was measured:
 * `npm run e2e:etcd -- [--only id,id] [--runs n] [--version 3.6.16] [--list]`.
 */
import { parseArgs } from "node:util";
import { measure } from "./bench.ts";
import { holds, markdown, type Row } from "./measure.ts";
import { scenarios } from "./scenarios.ts";
import { World } from "./world.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    runs: { type: "string" },
    version: { type: "string", default: "3.6.16" },
    list: { type: "boolean", default: false },
  },
});

if (values.list) {
  for (const { id, fault } of scenarios) console.log(`${id.padEnd(12)} ${fault}`);
  process.exit(0);
}

const startedAt = performance.now();
const say = (sentence: string) =>
  console.error(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} ${sentence}`);
const only = values.only?.split(",");
const chosen = scenarios.filter(({ id }) => only === undefined || only.includes(id));
const rows: Row[] = [];
{
  await using world = await World.start(say);
  for (const scenario of chosen) {
    say(`${scenario.id}: ${scenario.fault}`);
    const runs = values.runs === undefined ? scenario.runs : Number(values.runs);
    const row = await measure(world, scenario, { runs, version: values.version, say });
    for (const violation of row.violations) say(`VIOLATION ${violation}`);
    rows.push(row);
  }
}
console.log(markdown(rows));
const missed = rows.filter((row) => !holds(row));
for (const { fault } of missed) console.error(`goal missed: ${fault}`);
process.exit(missed.length === 0 && rows.length > 0 ? 0 : 1);
