/**
 * `npm run demo -- etcd`: a real etcd cluster, run and healed by its operator, on this machine. Each step is checked, and the
 * demo fails if what it shows is not so. With `--exit` the cluster goes away at the end; otherwise it stays up.
 */
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { buildImage, loadOperator, manifestsFor, readProject } from "@keelson/cli";
import { pods } from "@keelson/client";
import { startCluster } from "@keelson/cluster";
import type { ObjectOf } from "@keelson/core";
import { Deployment, PersistentVolumeClaim, Pod } from "@keelson/core/kinds";
import { EtcdBackup, EtcdCluster, EtcdGateway } from "@keelson/etcd-operator";
import { loadImages } from "@keelson/images";
import { locateEtcd } from "@keelson/reference/locate";
import { until } from "@keelson/testing";
import { narrate } from "../narrate.ts";
import { environment, root } from "../run.ts";

const KEYS = 200;
const here = { namespace: "default", name: "example-etcd-cluster" };
const modern = locateEtcd("3.6");
// Every Debian has etcd 3.4; where the reference was built there is 3.6.
const version = "missing" in modern ? "3.4.23" : modern.version;
const say = narrate();

const cluster = await say.step("an embedded cluster: API server, controllers, scheduler, a node", () =>
  startCluster({ onProgress: say.detail }),
);
let isOver = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    say.interrupt("taking the cluster down");
    void leave(isOver ? 0 : 130);
  });
}
const { client } = cluster;
if (cluster.pods === "simulated") {
  await leave(
    1,
    "this machine allows no sandboxes, so pods would be simulated: there is nothing true to show",
  );
}

const project = readProject(join(root, "operators/etcd"));
const image = `${project.name}:${project.version}`;
await say.step("the etcd operator, built into an image without a daemon", async () => {
  execFileSync("tsc", ["-b", "packages/keelson", "packages/kit"], {
    cwd: root,
    env: environment,
    stdio: "inherit",
  });
  const { archive, digest } = await buildImage(project, { image, base: "node:24", onProgress: say.detail });
  const path = join(dirname(cluster.kubeconfig), "operator.oci.tar");
  await writeFile(path, archive);
  await loadImages(path);
  say.detail(`${image}  ${digest.slice(0, 19)}  ${(archive.length / 2 ** 20).toFixed(0)} MiB`);
});

await say.step("the operator installed: CRDs, its exact role, a Deployment", async () => {
  const parts = await loadOperator(project);
  for (const manifest of manifestsFor(project, parts, { namespace: project.name, image, replicas: 1 })) {
    const kind = await client.discover(manifest.apiVersion, manifest.kind);
    await client.kind(kind).apply(manifest);
  }
  const where = { namespace: project.name, name: project.name };
  await until(client, Deployment, where, (each) => each?.status?.availableReplicas === 1, {
    timeoutMs: 60_000,
  });
});

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
say.end();
isOver = true;

if (!process.argv.includes("--exit") && process.stdout.isTTY) {
  console.log("\nThe cluster stays up until Ctrl-C. In another terminal:\n");
  console.log(`  export KUBECONFIG=${cluster.kubeconfig}`);
  console.log(
    "  kubectl get etcd,pods,pvc\n  kubectl delete pod example-etcd-cluster-0 && kubectl get etcd -w",
  );
  console.log("  kubectl scale etcd example-etcd-cluster --replicas 3");
  await new Promise(() => {});
}
await leave(0);

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

async function leave(code: number, why?: string): Promise<never> {
  if (why) console.error(why);
  await cluster.stop();
  process.exit(code);
}
