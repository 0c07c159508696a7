/** On real processes: a backup to a volume, taken and proven in a pod, and a new cluster from it. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildImage, readProject } from "@keelson/cli";
import { loadImages } from "@keelson/cluster/images";
import { EtcdBackup, EtcdCluster, EtcdGateway } from "@keelson/etcd-operator";
import { forwardConnector } from "keelson";
import { PersistentVolumeClaim } from "keelson/kinds";
import { eventually, namespace, World } from "./world.ts";

const image = "keelson-e2e/etcd-operator:1";
const [version = "3.6.16"] = process.argv.slice(2);
const say = (sentence: string) => void process.stdout.write(`${sentence}\n`);

const directory = await mkdtemp(join(tmpdir(), "keelson-e2e-image-"));
const { archive } = await buildImage(readProject("operators/etcd"), { image, base: "node:24" });
await writeFile(join(directory, "image.tar"), archive);
await loadImages(join(directory, "image.tar"), {});
await rm(directory, { recursive: true });
process.env["OPERATOR_IMAGE"] = image;

await using world = await World.start(say);
await world.startOperator();
await world.create("old", { size: 1, version });
await world.whenReady("old", 1, 120_000);

const write = async (name: string, keys: number) => {
  await using link = await forwardConnector(world.client)({ pod: { namespace, name: `${name}-0` } }, 2379, {
    namespace,
    signal: AbortSignal.timeout(60_000),
  });
  const etcd = new EtcdGateway(link);
  for (let i = 0; i < keys; i++) await etcd.put(`key-${i}`, `value-${i}`);
  return {
    keys: await etcd.count(),
    revision: (await etcd.status()).revision,
    last: await etcd.get("key-99"),
  };
};
const before = await write("old", 100);
await world.client.kind(PersistentVolumeClaim).create({
  metadata: { namespace, name: "backups" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
});
const startedMs = performance.now();
await world.client.kind(EtcdBackup).create({
  metadata: { namespace, name: "now" },
  spec: { cluster: "old", store: { claim: { name: "backups" } } },
});
const find = async () => await world.client.kind(EtcdBackup).get({ namespace, name: "now" });
await eventually(
  "the backup is done",
  120_000,
  async () => (await find()).status?.phase === "Done",
  async () => JSON.stringify((await find()).status),
);
const { status } = await find();
say(
  `backup done in ${Math.round(performance.now() - startedMs)} ms: ${JSON.stringify({ ...status, conditions: undefined, inventory: undefined })}`,
);
assert.equal(status?.keys, before.keys);
assert.equal(status?.revision, String(before.revision));

await world.remove("old");
const restoredMs = performance.now();
await world.client.kind(EtcdCluster).create({
  metadata: { namespace, name: "new" },
  spec: { size: 1, version, restoreFrom: { backup: "now" } },
});
await world.whenReady("new", 1, 120_000);
say(`restored in ${Math.round(performance.now() - restoredMs)} ms`);
const after = await write("new", 0);
assert.equal(after.keys, before.keys);
assert.equal(after.last.value, "value-99");
const raised = after.revision >= before.revision + 1_000_000_000n;
assert.ok(raised || version.startsWith("3.4."));
say(`every key is there, and revisions are ${raised ? "raised" : "as they were"}`);
