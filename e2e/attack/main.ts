/**
 * `npm run attack`: attacks an API server and a node of this machine, and says what was blocked.
 */

import { commandLine, refuse } from "../../scripts/command-line.ts";
import { attackApi } from "./api.ts";
import type { Result } from "./attack.ts";
import { attackNode } from "./node.ts";

const values = commandLine({
  command: "npm run attack",
  does: "Tries what must not be possible, on an API server and a node of this machine, and says what was blocked.",
  options: {
    only: { text: "GROUP,…", help: "these groups of attacks alone" },
    short: { help: "the API server alone, with fewer requests" },
    verbose: { help: "print every attack, also those that were blocked" },
  },
});

const results: Result[] = [];
const tell = (result: Result) => {
  results.push(result);
  const { group, id, outcome, detail } = result;
  if (values.verbose || outcome !== "blocked")
    console.log(`${outcome.padEnd(10)} ${group}: ${id}${detail ? `: ${detail}` : ""}`);
};
const groups = values.only?.split(",");
const options = { tell, short: values.short, ...(groups && { groups }) };
await attackApi({ ...options, compare: true });
if (!values.short) await attackNode(options);
const empty = groups?.find((group) => !results.some((result) => result.group === group));
if (empty !== undefined) refuse(`there is no group of attacks named ${empty}`);

console.log("\n| attacks | tried | blocked | vulnerable | not tried |\n| --- | --- | --- | --- | --- |");
for (const group of new Set(results.map((result) => result.group))) {
  const of = results.filter((result) => result.group === group);
  console.log(
    `| ${group} | ${of.length} | ${["blocked", "vulnerable", "not tried"].map((outcome) => of.filter((result) => result.outcome === outcome).length).join(" | ")} |`,
  );
}
const vulnerable = results.filter(({ outcome }) => outcome === "vulnerable").length;
console.log(`\n${results.length} attacks, ${vulnerable} successful`);
process.exit(vulnerable === 0 ? 0 : 1);
