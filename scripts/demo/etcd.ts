/**
 * `npm run demo -- etcd`: a real etcd cluster, run and healed by its operator, on this machine. Each step is checked, and the
 * demo fails if what it shows is not so. With `--exit` the cluster goes away at the end; otherwise it stays up.
 */
import { pods } from "@keelson/client";
import type { ObjectOf } from "@keelson/core";
import { PersistentVolumeClaim, Pod } from "@keelson/core/kinds";
import { EtcdBackup, EtcdCluster, EtcdGateway } from "@keelson/etcd-operator";
import { locateEtcd } from "@keelson/reference/locate";
import { until } from "@keelson/testing";
import { Stage } from "./stage.ts";

const KEYS = 200;
const here = { namespace: "default", name: "example-etcd-cluster" };
const modern = locateEtcd("3.6");
// Every Debian has etcd 3.4; where the reference was built there is 3.6.
const version = "missing" in modern ? "3.4.23" : modern.version;

const stage = await Stage.open("an embedded cluster: API server, controllers, scheduler, a node", 1);
const { say, cluster } = stage;
const { client } = cluster;
const operator = stage.operator("etcd");
await say.step("the etcd operator, built into an image without a daemon", operator.build);
await say.step("the operator installed: CRDs, its exact role, a Deployment", operator.install);

await say.step(`an EtcdCluster of three, etcd ${version}`, async () => {
  await client.kind(EtcdCluster).apply(EtcdCluster.object({ metadata: here, spec: { size: 3, version } }));
  await members(3);
});
await say.step(`${KEYS} keys written`, async () => {
  await using etcd = await reach(await anyMember());
  for (let index = 0; index < KEYS; index++) await etcd.client.put(`key-${index}`, `value-${index}`);
});
await say.step("a member's pod deleted; the operator brings it back with its data", async () => {
  const name = await anyMember();
  const { uid } = (await client.kind(Pod).get({ namespace: here.namespace, name })).metadata;
  await client.kind(Pod).delete({ namespace: here.namespace, name }, { uid, gracePeriodSeconds: 0 });
  await until(
    client,
    Pod,
    { namespace: here.namespace, name },
    (pod) => pod !== undefined && pod.metadata.uid !== uid && isReady(pod),
  );
  await members(3);
  await everyKey(name);
});
await say.step("a backup, which counts only after a restore into a scratch member", async () => {
  const { namespace } = here;
  await client.kind(PersistentVolumeClaim).create({
    metadata: { namespace, name: "backups" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  });
  const backup = { namespace, name: "first" };
  const spec = { cluster: here.name, store: { claim: { name: "backups" } } };
  await client.kind(EtcdBackup).create(EtcdBackup.object({ metadata: backup, spec }));
  const taken = await until(client, EtcdBackup, backup, ended, { timeoutMs: 120_000 });
  const { phase, revision, keys, sha256 } = taken?.status ?? {};
  if (phase !== "Done") throw new Error(`the backup ended as ${phase}: ${JSON.stringify(taken?.status)}`);
  say.detail(`revision ${revision}, ${keys} keys, sha256 ${sha256?.slice(0, 12)}…`);
});
await say.step("kubectl scale --replicas 5", async () => {
  await client.kind(EtcdCluster).patch(here, { type: "merge", body: { spec: { size: 5 } } });
  const grown = await members(5);
  for (const { name } of grown.status?.members ?? []) await everyKey(name);
});
await stage.end([
  "kubectl get etcd,pods,pvc",
  "kubectl delete pod example-etcd-cluster-0 && kubectl get etcd -w",
  "kubectl scale etcd example-etcd-cluster --replicas 3",
]);

/** Resolves when this many members are voters and ready, and the status speaks of the newest spec. */
async function members(count: number): Promise<ObjectOf<typeof EtcdCluster>> {
  const settled = await until(
    client,
    EtcdCluster,
    here,
    (each) =>
      each?.status?.readyMembers === count &&
      each.status.observedGeneration === each.metadata.generation &&
      Boolean(each.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True")),
    { timeoutMs: 180_000 },
  );
  const { leader, phase } = settled?.status ?? {};
  say.detail(`${count} of ${count} members ready, leader ${leader}, phase ${phase}`);
  return settled as ObjectOf<typeof EtcdCluster>;
}

function ended(backup: ObjectOf<typeof EtcdBackup> | undefined): boolean {
  return backup?.status?.phase === "Done" || backup?.status?.phase === "Failed";
}

async function anyMember(): Promise<string> {
  const { status } = await client.kind(EtcdCluster).get(here);
  const follower = status?.members?.find((member) => member.name !== status.leader);
  return (follower ?? status?.members?.[0])?.name ?? "";
}

/** What the cluster's status says may still be of the time before. */
function isReady({ status }: ObjectOf<typeof Pod>): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
}

/** Speaks to one member through a port-forward, as a person at this machine would. */
async function reach(name: string): Promise<{ client: EtcdGateway } & AsyncDisposable> {
  const forward = await pods(client).forward({ namespace: here.namespace, name }, { port: 2379 });
  return {
    client: new EtcdGateway({ host: "127.0.0.1", port: forward.localPort }),
    [Symbol.asyncDispose]: () => forward.close(),
  };
}

async function everyKey(name: string): Promise<void> {
  await using etcd = await reach(name);
  const found = await etcd.client.count();
  if (found < KEYS) throw new Error(`${name} has ${found} keys of ${KEYS}`);
  say.detail(`${name} has all ${KEYS} keys`);
}
