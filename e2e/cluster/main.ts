/**
 * The embedded cluster as a person uses it, with the real kubectl; prints what was measured:
 * `npm run e2e:cluster -- [--only id,id] [--list]`.
 */

import { userInfo } from "node:os";
import { parseArgs } from "node:util";
import { errorText } from "@keelson/core/internal";
import { Machine } from "./machine.ts";
import { scenarios } from "./scenarios.ts";

const { values } = parseArgs({
  options: { only: { type: "string" }, list: { type: "boolean", default: false } },
});

if (values.list) {
  for (const { id, promise } of scenarios) console.log(`${id.padEnd(10)} ${promise}`);
  process.exit(0);
}

const startedAt = performance.now();
const say = (sentence: string) =>
  console.error(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} ${sentence}`);
const only = values.only?.split(",");
const chosen = scenarios.filter(({ id }) => only === undefined || only.includes(id));
const who = process.getuid?.() === 0 ? "root" : "ordinary user";
const lines = [`| promise (as ${who}) | measured | kept |`, "| --- | --- | --- |"];
let broken = 0;
for (const { id, promise, run } of chosen) {
  say(`${id}: ${promise}`);
  await using machine = await Machine.start();
  const result = await run(machine, say).catch((error: unknown) => ({
    measured: "",
    broken: errorText(error),
  }));
  if (result.broken !== undefined) {
    broken++;
    say(`BROKEN ${result.broken}`);
  }
  lines.push(`| ${promise} | ${result.measured} | ${result.broken === undefined ? "yes" : "**no**"} |`);
}
console.log(lines.join("\n"));
say(`${chosen.length - broken} of ${chosen.length} promises kept, as ${userInfo().username}`);
process.exit(broken === 0 && chosen.length > 0 ? 0 : 1);
