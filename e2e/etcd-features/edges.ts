/**
 * On real processes and three nodes: changes of mind, ends in the middle of something, namesakes, volumes that never
 * come, a full store, drains, and the end of a whole namespace. Names of cases choose some of them.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { EtcdBackup, EtcdCluster, EtcdGateway } from "@keelson/etcd-operator";
import { forwardConnector } from "keelson";
import {
  Event,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Secret,
  Service,
} from "keelson/kinds";
import { commandLine } from "../../scripts/command-line.ts";
import { ClusterAccess } from "../etcd/cluster-access.ts";
import { eventually } from "../operator/eventually.ts";
import { installImage, say } from "./setting.ts";
import { namespace, Stage } from "./stage.ts";

const run = promisify(execFile);
const [version = "3.6.16", ...chosen] = commandLine({
  command: "node --conditions=keelson-source e2e/etcd-features/edges.ts",
  does: "Edge cases on real etcd and three nodes: changes of mind, deletions in the middle of something, drains.",
  words: "[VERSION [CASE…]]",
}).words;

await installImage();
// Before the nodes: what is mounted later they do not see.
await using small = await smallVolume();
await using world = await Stage.start(say, { nodes: 3 });
const { client } = world;

/** A directory with room for four megabytes. */
async function smallVolume() {
  const directory = await mkdtemp(join(tmpdir(), "keelson-e2e-full-"));
  await run("mount", ["-t", "tmpfs", "-o", "size=4m,mode=1777", "tmpfs", directory]);
  return {
    directory,
    [Symbol.asyncDispose]: async () => {
      await run("umount", [directory]);
      await rm(directory, { recursive: true });
    },
  };
}

/** Speaks to one member for as long as `work` takes. */
async function on<T>(
  access: ClusterAccess,
  pod: string,
  work: (etcd: EtcdGateway) => Promise<T>,
): Promise<T> {
  await using link = await forwardConnector(client)(
    { pod: { namespace: access.namespace, name: pod } },
    2379,
    {
      namespace: access.namespace,
      signal: AbortSignal.timeout(60_000),
    },
  );
  return await work(new EtcdGateway(link));
}

async function put(access: ClusterAccess, pod: string, key: string, value: string): Promise<void> {
  await on(access, pod, async (etcd) => await etcd.put(key, value));
}

async function get(access: ClusterAccess, pod: string, key: string): Promise<string | undefined> {
  return (await on(access, pod, async (etcd) => await etcd.get(key))).value;
}

/** What is left of a cluster, by kind and name. */
async function leftovers(name: string): Promise<string[]> {
  const kinds = [Pod, PersistentVolumeClaim, Service, PodDisruptionBudget, Secret] as const;
  const found = await Promise.all(
    kinds.map(async (kind) =>
      (await client.kind(kind).list({ namespace })).items.map(
        ({ metadata }) => `${kind.kind}/${metadata.name}`,
      ),
    ),
  );
  return found.flat().filter((each) => new RegExp(`/${name}(-|$)`).test(each));
}

async function seconds(what: string, withinMs: number, holds: () => Promise<boolean>): Promise<string> {
  const since = performance.now();
  await eventually(what, withinMs, holds);
  return `${((performance.now() - since) / 1_000).toFixed(1)} s`;
}

async function makeNamespace(name: string): Promise<ClusterAccess> {
  await client.kind(Namespace).create({ metadata: { name } });
  return new ClusterAccess(client, name);
}

async function condition(access: ClusterAccess, name: string, type: string) {
  return (await access.get(name)).status?.conditions?.find((each) => each.type === type);
}

const cases: Record<string, () => Promise<void>> = {
  async namesakes() {
    const other = await makeNamespace("other");
    const both = [world, other] as const;
    for (const each of both) await each.create("twin", { size: 1, version });
    for (const each of both) await each.whenReady("twin", 1, 120_000);
    for (const each of both) await put(each, "twin-0", "whose", each.namespace);
    for (const each of both) assert.equal(await get(each, "twin-0", "whose"), each.namespace);
    const [mine, theirs] = await Promise.all(both.map(async (each) => (await each.get("twin")).status));
    assert.notEqual(mine?.clusterId, theirs?.clusterId);
    await other.remove("twin");
    assert.ok(await world.isReady("twin", 1));
    assert.equal(await get(world, "twin-0", "whose"), namespace);
    await world.remove("twin");
    say("namesakes in two namespaces know nothing of each other");
  },

  async secondThoughts() {
    await world.create("torn", { size: 3, version });
    await world.whenReady("torn", 3, 180_000);
    await put(world, "torn-0", "kept", "yes");
    const ids = async () => (await world.get("torn")).status?.members?.map(({ id }) => id).sort();
    const before = await ids();
    await world.change("torn", { size: 5 });
    await eventually("the fourth has begun to join", 60_000, async () => {
      const { status } = await world.get("torn");
      return (status?.members?.length ?? 0) > 3;
    });
    await world.change("torn", { size: 3 });
    const took = await seconds("three members again", 180_000, async () => await world.isReady("torn", 3));
    const names = (await world.get("torn")).status?.members?.map(({ name }) => name).sort();
    const rest = (items: readonly { metadata: { name: string } }[]) =>
      items.map(({ metadata }) => metadata.name).sort();
    assert.deepEqual(rest(await world.pods("torn")), names);
    await eventually("no volume is left over", 30_000, async () => {
      return JSON.stringify(rest(await world.claims("torn"))) === JSON.stringify(names);
    });
    assert.deepEqual(await ids(), before, "the three that were there are the three that stay");
    assert.equal(await get(world, names?.[0] ?? "", "kept"), "yes");
    say(`3 → 5 → 3 before the first was done: at rest after ${took}`);
    await world.remove("torn");
  },

  async endsInTheMiddle() {
    const gone = async (name: string) => {
      await client.kind(EtcdCluster).delete({ namespace, name });
      const took = await seconds(`${name} is gone`, 90_000, async () => await world.isGone(name));
      await eventually(
        `nothing is left of ${name}`,
        30_000,
        async () => (await leftovers(name)).length === 0,
      );
      return took;
    };
    const deletion = { volumes: "Remove" };
    await world.create("growing", { size: 1, version, deletion });
    await world.whenReady("growing", 1, 120_000);
    await world.change("growing", { size: 3 });
    await eventually("a learner joins", 60_000, async () => {
      const { status } = await world.get("growing");
      return status?.members?.some(({ phase }) => phase === "Learner") ?? false;
    });
    say(`deleted while it grows: gone after ${await gone("growing")}`);

    await world.create("rolling", { size: 3, version, deletion });
    await world.whenReady("rolling", 3, 180_000);
    await world.change("rolling", { settings: { snapshotCount: 12_345 } });
    await eventually("a member is restarted", 60_000, async () => {
      const { status } = await world.get("rolling");
      return status?.rollout !== undefined && (await world.pods("rolling")).length < 3;
    });
    say(`deleted while it rolls: gone after ${await gone("rolling")}`);

    await world.create("restoring", {
      size: 1,
      version,
      deletion,
      restoreFrom: {
        store: { claim: { name: "nowhere", path: "" } },
        name: "default/x/y-z",
        allowUnverified: true,
      },
    });
    await eventually("its first pod waits for the store", 60_000, async () => {
      return (await world.pods("restoring")).length === 1;
    });
    say(`deleted while it restores: gone after ${await gone("restoring")}`);
  },

  async noVolume() {
    const storage = { size: "1Gi", className: "nowhere" };
    await world.create("waiting", { size: 1, version, storage });
    let told = "";
    await eventually("a condition says what is missing", 90_000, async () => {
      told = (await condition(world, "waiting", "Ready"))?.message ?? "";
      return told.includes("storage class nowhere");
    });
    await world.change("waiting", { storage: { className: null } });
    await world.whenReady("waiting", 1, 120_000);
    await world.remove("waiting");
    say(`a volume that never comes is told as: ${told}`);
  },

  async fullStore() {
    const { directory } = small;
    const capacity = { storage: "4Mi" };
    const shape = { accessModes: ["ReadWriteOnce" as const], storageClassName: "by-hand" };
    await client.kind(PersistentVolume).create({
      metadata: { name: "small" },
      spec: { ...shape, capacity, hostPath: { path: directory }, persistentVolumeReclaimPolicy: "Retain" },
    });
    await client.kind(PersistentVolumeClaim).create({
      metadata: { namespace, name: "small" },
      spec: { ...shape, volumeName: "small", resources: { requests: capacity } },
    });
    await world.create("large", { size: 1, version });
    await world.whenReady("large", 1, 120_000);
    for (let n = 0; n < 8; n++) await put(world, "large-0", `key-${n}`, "x".repeat(1_000_000));
    await client.kind(EtcdBackup).create({
      metadata: { namespace, name: "too-large" },
      spec: { cluster: "large", store: { claim: { name: "small" } } },
    } as never);
    const backup = async () => await client.kind(EtcdBackup).get({ namespace, name: "too-large" });
    await eventually(
      "the backup has failed",
      180_000,
      async () => (await backup()).status?.phase === "Failed",
      async () => JSON.stringify((await backup()).status),
    );
    const { failure } = (await backup()).status ?? {};
    assert.match(failure?.message ?? "", /ENOSPC|no space/i);
    const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((each) =>
      each.isFile(),
    );
    assert.deepEqual(
      files.map(({ name }) => name),
      [],
      "a failed attempt takes no room",
    );
    assert.ok(await world.isReady("large", 1), "the cluster does not notice");
    await client.kind(EtcdBackup).delete({ namespace, name: "too-large" });
    await world.remove("large");
    say(`a full store: ${failure?.message}`);
  },

  async drained() {
    const kubectl = async (...args: string[]) =>
      await run("kubectl", ["--kubeconfig", world.kubeconfig, ...args]);
    const drain = async (node: string, timeout: string) =>
      await kubectl(
        "drain",
        node,
        "--ignore-daemonsets",
        "--delete-emptydir-data",
        `--timeout=${timeout}`,
      ).then(
        () => "drained",
        (error: { stderr?: string }) => error.stderr ?? "",
      );
    await world.create("spread", { size: 3, version });
    await world.whenReady("spread", 3, 180_000);
    const nodeOf = async (member: string) => (await world.pod(member))?.spec?.nodeName ?? "";
    const members = (await world.get("spread")).status?.members?.map(({ name }) => name) ?? [];
    const nodes = await Promise.all(members.map(nodeOf));
    assert.equal(new Set(nodes).size, 3, `one member on each node, and not ${nodes}`);
    const [first = "", second = ""] = nodes;
    assert.equal(await drain(first, "60s"), "drained");
    const serving = (await world.pods("spread")).filter(({ status }) =>
      status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"),
    );
    // A volume of this machine may be used from any of its nodes; where it may not, the member waits for its node.
    const refused = serving.length === 3 ? "not asked" : await drain(second, "5s");
    if (refused !== "not asked") assert.match(refused, /disruption budget/);
    await put(world, members[1] ?? "", "while", "drained");
    await kubectl("uncordon", first);
    if (refused !== "not asked") await kubectl("uncordon", second);
    await world.whenReady("spread", 3, 120_000);
    assert.equal(await get(world, members[0] ?? "", "while"), "drained");
    say(`drained ${first}; a second drain at the same time: ${refused.trim().split("\n").at(-1)}`);

    await Promise.all(
      nodes
        .slice(0, 2)
        .map(async (node) => assert.match(await drain(node, "90s"), /drained|disruption budget/)),
    );
    const { status } = await world.get("spread");
    assert.ok((status?.readyMembers ?? 0) >= 2, "two drains at once leave a majority");
    for (const node of nodes) await kubectl("uncordon", node);
    await world.whenReady("spread", 3, 180_000);
    await world.remove("spread");
    say("two nodes drained at once: a majority served all the time");

    await world.create("alone", { size: 1, version });
    await world.whenReady("alone", 1, 120_000);
    const home = await nodeOf("alone-0");
    assert.match(await drain(home, "5s"), /disruption budget/);
    await client.kind(Pod).delete({ namespace, name: "alone-0" });
    await kubectl("uncordon", home);
    await world.whenReady("alone", 1, 120_000);
    await world.remove("alone");
    say("a single member is not drained: its budget asks a person to decide");
  },

  async namespaceGoes() {
    const doomed = await makeNamespace("doomed");
    await client.kind(PersistentVolumeClaim).create({
      metadata: { namespace: "doomed", name: "backups" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    });
    const deletion = { volumes: "Keep", finalBackup: { claim: { name: "backups" } } };
    await doomed.create("last", { size: 3, version, deletion });
    await doomed.whenReady("last", 3, 180_000);
    await client.kind(Namespace).delete({ name: "doomed" });
    const took = await seconds(
      "the namespace is gone",
      120_000,
      async () => (await client.kind(Namespace).find({ name: "doomed" })) === undefined,
    );
    const { items } = await client.kind(Event).list({ namespace });
    const told = items.filter(({ involvedObject }) => involvedObject.name === "doomed");
    const expected = "EtcdCluster last: the namespace is being deleted: no backup can be taken";
    assert.ok(
      told.some(({ message }) => message === expected),
      JSON.stringify(told),
    );
    say(`a namespace with a last backup in it went after ${took}, and an event tells that there is none`);
  },
};

for (const [name, play] of Object.entries(cases)) {
  if (chosen.length === 0 || chosen.includes(name)) await play();
}
assert.ok((await client.kind(Node).list()).items.length === 3);
