/** The dashboard asks only for what is there: of this operator, of the runtime, and of etcd itself. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { operator, silentLogger } from "keelson";
import { expect, it } from "vitest";
import { EtcdCluster } from "../src/api/cluster.ts";
import { EtcdMetrics, metricNames } from "../src/metrics.ts";
import { etcdTools, scratchDirectory, startEtcd } from "./backup/etcd-process.ts";
import { ref, World } from "./simulation/world.ts";

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
}

const text = await readFile(join(import.meta.dirname, "../dashboard.json"), "utf8");
const { panels } = JSON.parse(text) as Dashboard;
const asked = new Set(
  panels
    .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    .flatMap((expr) => expr.match(/\b[a-z][a-z0-9_]*(?=\{)/g) ?? []),
);

it("the dashboard queries no unknown metric", async () => {
  const tools = await etcdTools("3.4");
  if ("missing" in tools) return;
  await using directory = await scratchDirectory();
  await using etcd = await startEtcd(tools, { name: "m", token: "t", dataDirectory: directory.path });
  const members = await (await fetch(`http://127.0.0.1:${etcd.port}/metrics`)).text();
  await using world = await World.start();
  await using running = await operator({
    controllers: [],
    name: "etcd-operator",
    client: world.cluster.client,
    leaderElection: false,
    endpoints: { port: 0, host: "127.0.0.1" },
    log: silentLogger,
    collect: () => new EtcdMetrics().families(),
  }).start();
  const own = await (await fetch(`http://127.0.0.1:${running.port}/metrics`)).text();
  const exported = new Set([...`${members}\n${own}`.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  // A member alone has no peers to measure.
  exported.add("etcd_network_peer_round_trip_time_seconds");
  const known = (name: string) => exported.has(name) || exported.has(name.replace(/_bucket$/, ""));
  expect([...asked].filter((name) => !known(name))).toEqual([]);
  expect(asked.size).toBeGreaterThan(20);
});

it("the dashboard shows every metric of the operator", () => {
  const shown = new Set(asked);
  expect(metricNames.filter((name) => !shown.has(name) && name !== "etcd_member_ready")).toEqual([]);
});

it("the metrics of a cluster agree with its status", async () => {
  await using world = await World.start();
  await world.create({ size: 3, version: "3.6.16" });
  await world.settles(3);
  const values = new Map(
    world.metrics
      .families()
      .flatMap(({ name, samples }) =>
        samples.map(({ labels, value }) => [
          `${name}/${labels["condition"] ?? labels["phase"] ?? labels["action"] ?? ""}`,
          value,
        ]),
      ),
  );
  expect(values.get("etcd_cluster_ready_members/")).toBe(3);
  expect(values.get("etcd_cluster_members/Voter")).toBe(3);
  expect(values.get("etcd_cluster_condition/Available")).toBe(1);
  expect(values.get("etcd_cluster_condition/Degraded")).toBe(0);
  expect(values.get("etcd_operator_actions_total/addLearner")).toBe(2);
  expect(values.get("etcd_operator_actions_total/promote")).toBe(2);
  world.allowStops();
  await world.cluster.client.kind(EtcdCluster).delete(ref);
  await world.cluster.until(
    async () => (await world.cluster.client.kind(EtcdCluster).find(ref)) === undefined,
  );
  const left = world.metrics.families().filter(({ name }) => name !== "etcd_operator_actions_total");
  expect(left.flatMap(({ samples }) => samples)).toEqual([]);
});
