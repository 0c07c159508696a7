/** The measured tables, on a page of their own, between two marks. */
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Scenario } from "./bench.ts";
import { hourMarkdown, lastHour } from "./hour.ts";
import { load } from "./load.ts";
import { allResults, markdown, type Results } from "./results.ts";

const page = join(import.meta.dirname, "../../docs/etcd-results.md");
const begin = "<!-- measured: written by `npm run e2e:etcd -- --write` -->";
const end = "<!-- /measured -->";

const { writers, readers, writesPerSecond } = load;
const how = [
  `\`npm run e2e:etcd\` breaks real etcd processes in every way below while ${writers} clients write, each to a key of its`,
  `own, ${writesPerSecond} times a second if they can, and ${readers} read. The operator runs as people install it: a Deployment with its`,
  "exact role.",
  "",
  "A client stays with one member while it answers, waits 800 ms for an answer, moves on to the next member, and gives a",
  "write up after 5 s. A write is a transaction that can neither happen twice nor undo a later one, so repeating it is safe.",
  "Every acknowledged write is looked for afterwards, each key's history is checked for linearizability (Wing and Gong), and",
  "revisions over all keys for strict order.",
  "",
  '- "Longest without a write": the longest time in which no client got an acknowledgement, from the fault until the end.',
  '- "Slowest write": the longest wait of one client for a write that was acknowledged in the end, retries included.',
  "- Ready, Available and Degraded are true when they do not contradict, for more than 15 s, what clients write and whether a",
  "  majority answers. No loss is told when `QuorumLost` and `AllDataLost` are not said while the volumes are there.",
  "",
  "Each row names the commits that its runs are of, or † where they are older than that was recorded. In rows with †, Ready was",
  "the only condition that was held against the world.",
].join("\n");

/** Puts the tables into the page, which is made when there is none. */
export async function writeReport(scenarios: readonly Scenario[]): Promise<string> {
  const tables = (await allResults()).map(
    (results) => `${heading(results)}\n\n${markdown(scenarios, results)}`,
  );
  const longest = lastHour();
  const weather = longest ? [`## A random fault or edit every five seconds\n\n${hourMarkdown(longest)}`] : [];
  const section = [begin, "", how, "", [...tables, ...weather].join("\n\n"), "", end].join("\n");
  const text = await readFile(page, "utf8").catch(
    () => `# The etcd operator, measured\n\n${begin}\n${end}\n`,
  );
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  const whole =
    from < 0 || to < 0
      ? `${text.trimEnd()}\n\n${section}\n`
      : text.slice(0, from) + section + text.slice(to + end.length);
  await writeFile(page, whole);
  execFileSync("biome", ["format", "--write", page], { stdio: "ignore" });
  return page;
}

function heading({ controlPlane, version, machine, busy }: Results): string {
  const where =
    controlPlane === "embedded"
      ? "the embedded cluster"
      : "the real kube-apiserver, controller manager and scheduler, with our node joined to them";
  const [least = 0, greatest = 0] = busy ?? [];
  const beside = busy
    ? `, shared with other work: its load average was ${least.toFixed(0)} to ${greatest.toFixed(0)}`
    : "";
  return `## etcd ${version} on ${where}\n\nA machine with ${machine}${beside}.`;
}
