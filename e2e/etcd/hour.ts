/** `npm run e2e:etcd -- --hour`: real etcd under load with a random fault or edit every five seconds. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseJson } from "@keelson/core";
import { version } from "../../operators/etcd/test/explore/scene.ts";
import { RealScene } from "../explore/real-scene.ts";
import { type Gust, type StormReport, storm } from "../explore/storm.ts";
import { real } from "./explored.ts";

/** More than the 200 writes a second that are asked for, so that outages do not bring the mean below. */
const amount = { writers: 48, readers: 4, writesPerSecond: 300 };
const file = join(import.meta.dirname, "../explore/results/etcd-hour.recorded.json");

/**
 * Deletion, hibernation and upgrades are left out: clients are not meant to be served, or there is no way back. What destroys
 * is rarely possible, and likely when it is.
 */
const gusts: Readonly<Record<string, Gust>> = {
  "pod: deleted": {},
  "pod: all deleted": { weight: 0.2 },
  "pod: process killed": {},
  "pod: process hangs": {},
  "node: loses power": {},
  "node: kubelet cut off": {},
  "node: cordoned": {},
  "volume: destroyed": { weight: 12, destroys: true },
  "line: a pod from everyone": {},
  "line: between two pods": {},
  "line: operator to a pod": {},
  "operator: killed": { weight: 0.5 },
  "operator: stopped for a while": {},
  "API: outage": { weight: 0.5 },
  "by hand: a child is deleted": {},
  "by hand: a label is changed or removed": {},
  "by hand: a label is removed from all pods": {},
  "by hand: owner references are removed": {},
  "by hand: an annotation is removed": {},
  "by hand: the status is wiped": {},
  "etcd: a voter is added by hand": { weight: 0.5 },
  "etcd: a member is removed by hand": { weight: 4, destroys: true },
  "etcd: the leader changes": {},
  "edit: size": { can: ({ with: args }) => Number(args?.["size"]) >= 3 },
  "edit: changed and taken back": {
    can: ({ with: args }) => Number(args?.["size"]) >= 3 && Number(args?.["afterMs"]) <= 5_000,
  },
  "edit: settings": {},
  "edit: resources that no node has": {},
  "edit: a node pool that does not exist": {},
  "edit: paused": {},
  "edit: backups are asked for": { weight: 0.3 },
};

export interface HourResult extends StormReport {
  readonly at: string;
  readonly commit: string;
  readonly version: string;
  readonly seed: number;
  readonly load: string;
}

export interface HourOptions {
  readonly minutes: number;
  readonly seed: number;
  readonly commit: string;
  readonly load: () => string;
  readonly say: (sentence: string) => void;
}

/** Resolves when it is over and everything has been checked. The result is kept. */
export async function hour({ minutes, seed, commit, load, say }: HourOptions): Promise<HourResult> {
  await using cluster = await real.start(say);
  const ref = { ...real.subject.ref, namespace: "hour" };
  await using scene = new RealScene(cluster, { ...real.subject, ref }, say);
  await scene.makeNamespace();
  await real.begin(scene, "three members that compact their history");
  const report = await storm(real, scene, { minutes, everyMs: 5_000, seed, gusts, amount, say });
  const at = new Date().toISOString();
  const result: HourResult = { at, commit, version, seed, load: load(), ...report };
  writeFileSync(file, `${JSON.stringify(result, undefined, 1)}\n`);
  return result;
}

/** The last one, if there was one. */
export function lastHour(): HourResult | undefined {
  try {
    return parseJson(readFileSync(file, "utf8")) as unknown as HourResult;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** As the page of results tells it. */
export function hourMarkdown(result: HourResult): string {
  const seconds = (ms: number | undefined) => (ms === undefined ? "never" : `${(ms / 1_000).toFixed(1)} s`);
  const { minutes, seed, commit, load, outages, problems } = result;
  return [
    `\`npm run e2e:etcd -- --hour --minutes ${minutes} --seed ${seed}\` on ${commit}, etcd ${result.version}, load average ${load}:`,
    `${result.disturbances} faults and edits of ${result.kinds} kinds in ${minutes} minutes, one every 5 s;`,
    `${result.acknowledged} writes acknowledged (${result.perSecond} per second over the whole time), ${result.lost} lost or out of order,`,
    `${result.failed} given up after 5 s; healed ${seconds(result.convergedMs)} after the last one.`,
    ...(problems.length === 0 ? [] : [`Missed: ${problems.join("; ")}.`]),
    "",
    "| without a write for | after | what was under way, or had ended less than 15 s before | what the status said |",
    "| --- | --- | --- | --- |",
    ...outages.map(
      ({ atMs, ms, during, told }) =>
        `| ${seconds(ms)} | ${seconds(atMs)} | ${during.join("; ") || "nothing"} | ${told.join("; ")} |`,
    ),
  ].join("\n");
}
