/** On real processes: TLS, passwords, certificates and authorities that change under load, backup, restore, the end. */
import assert from "node:assert/strict";
import { EtcdBackup, EtcdCluster } from "@keelson/etcd-operator";
import { PersistentVolumeClaim, Secret } from "keelson/kinds";
import { commandLine } from "../../scripts/command-line.ts";
import { eventually } from "../operator/eventually.ts";
import { installImage, say, Writer, withMember } from "./setting.ts";
import { namespace, Stage } from "./stage.ts";

const [version = "3.6.16"] = commandLine({
  command: "node --conditions=keelson-source e2e/etcd-features/tls.ts",
  does: "TLS and passwords on real etcd: certificates and authorities that change under load, a backup, a restore.",
  words: "[VERSION]",
}).words;
const password = "correct horse";
const cluster = "safe";
const secure = { cluster, password };

await installImage();
await using world = await Stage.start(say);
const secrets = world.client.kind(Secret);
await secrets.create({
  metadata: { namespace, name: "root" },
  data: { password: Buffer.from(password).toString("base64") },
});
const tls = { peer: {}, client: { overlapHours: 0 } };
const spec = { size: 3, version, tls, auth: { rootSecret: "root" } };
await world.create(cluster, spec);
await world.whenReady(cluster, 3, 180_000);
say(`etcd ${version}: three members over TLS, with passwords`);

for (const { name } of (await world.get(cluster)).status?.members ?? []) {
  const bare = await withMember(world, { cluster }, name, (etcd) => etcd.get("x")).then(
    () => "answered",
    (error: { code?: string }) => error.code,
  );
  assert.equal(bare, "Unauthenticated");
}

const uids = async () => await world.incarnations(cluster);
const served = async (member: string) => {
  const { connect } = await import("node:tls");
  const { forwardConnector } = await import("keelson");
  await using link = await forwardConnector(world.client)({ pod: { namespace, name: member } }, 2379, {
    namespace,
    signal: AbortSignal.timeout(20_000),
  });
  return await new Promise<string>((resolve, reject) => {
    const socket = connect({ ...link, rejectUnauthorized: false });
    socket.once("secureConnect", () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? "");
      socket.destroy();
    });
    socket.once("error", reject);
  });
};

{
  const writer = new Writer(world, secure);
  const before = await uids();
  const shown = await served(`${cluster}-0`);
  await secrets.delete({ namespace, name: `${cluster}-0-server-tls` });
  await secrets.delete({ namespace, name: `${cluster}-0-peer-tls` });
  await eventually(
    "a new certificate is shown",
    180_000,
    async () => (await served(`${cluster}-0`)) !== shown,
  );
  say(`a certificate was replaced: ${await writer.stop()}`);
  assert.deepEqual(await uids(), before, "no member was restarted for a certificate");
}

{
  const authority = await secrets.get({ namespace, name: `${cluster}-peer-ca` });
  const writer = new Writer(world, secure);
  const startMs = performance.now();
  await world.annotate(cluster, { "etcd.keelson.dev/rotate-authorities": "1" });
  await eventually(
    "both authorities are replaced",
    600_000,
    async () => {
      const { status } = await world.get(cluster);
      const now = await secrets.get({ namespace, name: `${cluster}-peer-ca` });
      const settled = ["peer", "client"].every((use) => status?.tls?.[use]?.phase === "Current");
      return (
        settled && now.data?.["tls.crt"] !== authority.data?.["tls.crt"] && (await world.isReady(cluster, 3))
      );
    },
    async () => JSON.stringify((await world.get(cluster)).status?.tls),
  );
  const seconds = Math.round((performance.now() - startMs) / 1_000);
  say(`both authorities were replaced in ${seconds} s: ${await writer.stop()}`);
  assert.ok(seconds < 300, `${seconds} s are too long for two restarts of three members`);
  assert.ok(writer.longestGapMs < 10_000, `${writer.longestGapMs} ms without a write: ${writer.lastError}`);
  const count = await withMember(world, secure, `${cluster}-0`, (etcd) => etcd.count());
  assert.equal(count, writer.written > 0 ? count : 0);
}

{
  await secrets.patch(
    { namespace, name: "root" },
    {
      type: "merge",
      body: {
        data: {
          password: Buffer.from("battery staple").toString("base64"),
          previousPassword: Buffer.from(password).toString("base64"),
        },
      },
    },
  );
  const next = { cluster, password: "battery staple" };
  await eventually("the new password holds", 60_000, async () => {
    await withMember(world, next, `${cluster}-0`, (etcd) => etcd.get("x"));
    return true;
  });
  say("root has another password");
  secure.password = next.password;
}

await world.client.kind(PersistentVolumeClaim).create({
  metadata: { namespace, name: "backups" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
});
const keys = await withMember(world, secure, `${cluster}-0`, (etcd) => etcd.count());
await world.change(cluster, {
  deletion: { volumes: "Remove", finalBackup: { claim: { name: "backups" } } },
});
await eventually("the change is seen", 20_000, async () => await world.isReady(cluster, 3));
await world.client.kind(EtcdCluster).delete({ namespace, name: cluster }, { propagation: "Foreground" });
await eventually(
  "the cluster is gone",
  240_000,
  async () => await world.isGone(cluster),
  async () => await world.told(cluster),
);
const [last] = (await world.client.kind(EtcdBackup).list({ namespace })).items;
assert.equal(last?.status?.phase, "Done");
assert.equal(last?.status?.keys, keys);
say(`deleted in the foreground, after a last backup of ${keys} keys (compared: ${last?.status?.compared})`);
assert.deepEqual(
  (await world.client.kind(PersistentVolumeClaim).list({ namespace })).items.map(
    ({ metadata }) => metadata.name,
  ),
  ["backups"],
);
assert.deepEqual(
  (await secrets.list({ namespace })).items.map(({ metadata }) => metadata.name),
  ["root"],
);

await world.create("again", {
  ...spec,
  size: 1,
  restoreFrom: { backup: last?.metadata.name ?? "" },
});
await world.whenReady("again", 1, 180_000);
const restored = await withMember(world, { ...secure, cluster: "again" }, "again-0", (etcd) => etcd.count());
assert.equal(restored, keys);
say("restored into a new cluster with TLS and the same password");
