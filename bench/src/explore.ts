/** `npm run bench:explore`: what a scenario of the explorer costs, one fault at a time, in turns. */
import { Beginnings, replay, type Step } from "@keelson/testing";
import { subject } from "../../operators/etcd/test/explore/index.ts";
import { commandLine } from "../../scripts/command-line.ts";
import { median, table } from "./measure.ts";

const { rounds } = commandLine({
  command: "npm run bench:explore",
  does: "What a scenario of the explorer costs in processor time: seven faults of three members of etcd, played in turns.",
  options: { rounds: { number: "N", default: 9, help: "of each fault" } },
});

/** Each alone, in a cluster whose operator holds no lease. */
const faults: Readonly<Record<string, Omit<Step, "atMs">>> = {
  size: { do: "edit: size", with: { size: 5 } },
  "a pod": { do: "pod: deleted", with: { which: 0.4 } },
  "a volume": { do: "volume: destroyed", with: { which: 0.4 } },
  "all pods": { do: "pod: all deleted" },
  "a node": { do: "node: loses power", forMs: 320_000, with: { which: 0.4 } },
  "the status": { do: "by hand: the status is wiped" },
  "a deletion": {
    do: "edit: deleted",
    with: { propagation: "Background", finalBackup: false, volumes: "Keep" },
  },
};
const beginning = "three members";

const beginnings = new Beginnings(subject);
await beginnings.at(beginning);
const costs = new Map(Object.keys(faults).map((name): [string, number[]] => [name, []]));
for (let seed = 1; seed <= rounds; seed++)
  for (const [name, step] of Object.entries(faults)) {
    const before = process.cpuUsage();
    await replay(subject, { beginning, seed, steps: [{ atMs: 1_000, ...step }] }, { beginnings });
    const { user, system } = process.cpuUsage(before);
    costs.get(name)?.push((user + system) / 1_000);
  }

const medians = [...costs].map(([name, each]): [string, number] => [name, median(each)]);
const mean = medians.reduce((sum, [, ms]) => sum + ms, 0) / medians.length;
console.log(
  table(
    ["fault", `ms of processor time, median of ${rounds}`],
    [...medians, ["mean", mean] as const].map(([name, ms]) => [name, ms.toFixed(1)]),
  ),
);
