/** What descriptions of etcd operators promise: members made, replaced, moved to another version, and brought back. */
import type { Claim } from "../claim.ts";
import { expect, type Shell } from "../shell.ts";

const name = "example-etcd-cluster";
const target = `etcdcluster/${name}`;
const [old, next] = ["3.5.35", "3.6.16"];
const store = { claim: { name: "etcd-backups" } };

const cluster = (spec: object, as = name) => ({
  apiVersion: "etcd.keelson.dev/v1",
  kind: "EtcdCluster",
  metadata: { name: as },
  spec: { size: 3, version: old, deletion: { volumes: "Remove" }, ...spec },
});

const storeClaim = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: store.claim.name },
  spec: { accessModes: ["ReadWriteMany"], resources: { requests: { storage: "1Gi" } } },
};

/** Names of the members' pods. */
async function members(shell: Shell, of = name): Promise<string[]> {
  return await shell.names("pods", "-l", `app.kubernetes.io/name=etcd,app.kubernetes.io/instance=${of}`);
}

/** A command of etcdctl through the Service for clients. */
async function etcdctl(shell: Shell, of: string, ...command: string[]): Promise<string> {
  const [pod = ""] = await members(shell, of);
  return await shell.exec(pod, "etcdctl", `--endpoints=http://${of}-client:2379`, ...command);
}

async function holds(shell: Shell, of: string, key: string, value: string): Promise<void> {
  const found = await etcdctl(shell, of, "get", key, "--print-value-only");
  expect(`${of} has ${key}=${value}`, found === value, found);
}

/** As many members as the spec says, all of them started, none of them a learner. */
async function sized(shell: Shell, size: number, of = name): Promise<void> {
  await shell.wait(`etcdcluster/${of}`, "condition=Ready", 240);
  await shell.until(`${size} pods`, async () => (await members(shell, of)).length === size);
  const list = await etcdctl(shell, of, "member", "list");
  const started = list.split("\n").filter((line) => /, started, .*, false$/.test(line));
  expect(`etcd itself says ${size}`, started.length === size, list);
}

/** Made if it is not there; of size 3. */
async function made(shell: Shell): Promise<void> {
  await shell.deployed("etcd");
  const there = await shell.names("etcdcluster", "--field-selector", `metadata.name=${name}`);
  if (there.length === 0) await shell.apply(cluster({}));
  await sized(shell, 3);
}

async function backup(shell: Shell, as: string): Promise<void> {
  await shell.apply(storeClaim, {
    apiVersion: "etcd.keelson.dev/v1",
    kind: "EtcdBackup",
    metadata: { name: as },
    spec: { cluster: name, store },
  });
  await shell.wait(`etcdbackup/${as}`, "jsonpath={.status.phase}=Done");
}

export const etcdClaims: readonly Claim[] = [
  {
    id: "etcd-create",
    promise: "A cluster is made from its size and version alone, and clients reach it through a Service",
    commands: ["kubectl create -f example-etcd-cluster.yaml", "kubectl get pods", "etcdctl put foo bar"],
    run: async (shell) => {
      await made(shell);
      await etcdctl(shell, name, "put", "foo", "bar");
      await holds(shell, name, "foo", "bar");
      return `${(await members(shell)).join(", ")}; etcdctl writes and reads`;
    },
  },
  {
    id: "etcd-resize",
    promise: "Its size changes from 3 to 5 and back by one changed field; the operator reconfigures etcd",
    commands: ["kubectl apply -f example-etcd-cluster.yaml", "kubectl get pods", "etcdctl member list"],
    run: async (shell) => {
      await made(shell);
      await etcdctl(shell, name, "put", "size", "any");
      await shell.apply(cluster({ size: 5 }));
      await sized(shell, 5);
      await shell.apply(cluster({ size: 3 }));
      await sized(shell, 3);
      await holds(shell, name, "size", "any");
      return "five members, then three again, and the data is there";
    },
  },
  {
    id: "etcd-member",
    promise: "When a minority of the members fails, the operator recovers by itself",
    commands: ["kubectl delete pod example-etcd-cluster-0 --now"],
    run: async (shell) => {
      await made(shell);
      await etcdctl(shell, name, "put", "before", "failure");
      const [victim = ""] = await members(shell);
      const before = await shell.value(`pod/${victim}`, ".metadata.uid");
      await shell.kubectl("delete", "pod", victim, "--now");
      await shell.until("its pod is replaced", async () => {
        const uids = await shell.kubectl("get", "pods", "-o", "jsonpath={..metadata.uid}");
        return !uids.includes(before) && (await members(shell)).length === 3;
      });
      await sized(shell, 3);
      await holds(shell, name, "before", "failure");
      return "three members again, and the data is there";
    },
  },
  {
    id: "etcd-operator",
    promise: "An operator that was away recovers its own state, and what happened to the clusters meanwhile",
    commands: ["kubectl delete deployment etcd-operator", "kubectl delete pod … --now", "keelson deploy"],
    run: async (shell) => {
      await made(shell);
      const [victim = ""] = await members(shell);
      await shell.kubectl("delete", "deployment", "etcd-operator", "-n", "etcd-operator");
      await shell.until("no operator runs", async () => {
        return (await shell.names("pods", "-n", "etcd-operator")).length === 0;
      });
      await shell.kubectl("delete", "pod", victim, "--now");
      const alone = await members(shell);
      expect("nobody replaces it", !alone.includes(victim), alone);
      await shell.keelson(
        "deploy",
        "--directory",
        shell.directoryOf("etcd"),
        "--no-build",
        "--image",
        await image(shell),
      );
      await shell.until("it is replaced", async () => (await members(shell)).length === 3);
      await sized(shell, 3);
      return "the operator was deleted, a member after it; both are back";
    },
  },
  {
    id: "etcd-disaster",
    promise: "A majority that crashes at once comes back with its data",
    commands: ["kubectl delete pod example-etcd-cluster-0 example-etcd-cluster-1 --now"],
    run: async (shell) => {
      await made(shell);
      await etcdctl(shell, name, "put", "disaster", "survived");
      const [one = "", two = ""] = await members(shell);
      await shell.kubectl("delete", "pod", one, two, "--now");
      await shell.until("three members", async () => {
        return (await etcdctl(shell, name, "get", "disaster", "--print-value-only")) === "survived";
      });
      await sized(shell, 3);
      return "quorum was lost; three members again, and the data is there";
    },
  },
  {
    id: "etcd-backup",
    promise: "Backups are taken by hand and by a policy: how often, and how many are kept",
    commands: [
      "kubectl apply -f backup.yaml",
      "kubectl apply -f backup-schedule.yaml",
      "kubectl get etcdbackup",
    ],
    run: async (shell) => {
      await made(shell);
      await etcdctl(shell, name, "put", "kept", "in-a-backup");
      await backup(shell, "by-hand");
      await shell.apply({
        apiVersion: "etcd.keelson.dev/v1",
        kind: "EtcdBackupSchedule",
        metadata: { name: "minutely" },
        spec: { cluster: name, schedule: "* * * * *", store, keep: { count: 1 } },
      });
      const taken = new Set<string>();
      await shell.until(
        "two backups were taken by the policy, and one is kept",
        async () => {
          const names = (await shell.names("etcdbackup")).filter((each) => each.startsWith("minutely-"));
          for (const each of names) taken.add(each);
          const done = await shell.value("etcdbackupschedule/minutely", ".status.lastSuccessful");
          return taken.size >= 2 && names.length === 1 && done !== "";
        },
        240,
      );
      await shell.kubectl("delete", "etcdbackupschedule", "minutely");
      return `one by hand; ${taken.size} by the policy, of which the newest is kept; each proven by a restore`;
    },
  },
  {
    id: "etcd-restore",
    promise: "A new cluster is restored from a backup, after the old one is gone for good",
    commands: ["kubectl delete etcdcluster example-etcd-cluster", "kubectl apply -f restored.yaml"],
    run: async (shell) => {
      await made(shell);
      await etcdctl(shell, name, "put", "restored", "yes");
      await backup(shell, "for-the-restore");
      const version = await shell.value(target, ".spec.version");
      await shell.kubectl("delete", "etcdcluster", name, "--timeout=120s");
      await shell.apply(cluster({ version, restoreFrom: { backup: "for-the-restore" } }, "restored"));
      await sized(shell, 3, "restored");
      await holds(shell, "restored", "restored", "yes");
      await shell.kubectl("delete", "etcdcluster", "restored", "--timeout=120s");
      return "three members with the data of the backup";
    },
  },
  {
    id: "etcd-upgrade",
    promise:
      "Its version is changed by one field: members are replaced one after the other, and etcd serves on",
    commands: ["kubectl apply -f example-etcd-cluster.yaml", "kubectl get pod … -o yaml | grep image:"],
    run: async (shell) => {
      await made(shell);
      await etcdctl(shell, name, "put", "version", old);
      await shell.apply(cluster({ version: next }));
      let fewest = 3;
      await shell.until(
        `every member runs ${next}`,
        async () => {
          fewest = Math.min(fewest, Number(await shell.value(target, ".status.readyMembers")));
          const images = await shell.kubectl(
            "get",
            "pods",
            "-l",
            `app.kubernetes.io/instance=${name}`,
            "-o",
            "jsonpath={..image}",
          );
          return !images.includes(old) && (await shell.value(target, ".status.version")) === next;
        },
        240,
      );
      await sized(shell, 3);
      expect("a majority was always ready", fewest >= 2, String(fewest));
      await holds(shell, name, "version", old);
      return `${old} → ${next}; never fewer than ${fewest} of 3 members ready`;
    },
  },
  {
    id: "etcd-destroy",
    promise: "A deleted cluster leaves nothing running",
    commands: ["kubectl delete -f example-etcd-cluster.yaml"],
    run: async (shell) => {
      await made(shell);
      await shell.kubectl("delete", "etcdcluster", name, "--timeout=120s");
      await shell.until("pods, Services and volumes are gone", async () => {
        const selector = ["-l", `app.kubernetes.io/instance=${name}`];
        return (await shell.names("pod,service,pvc", ...selector)).length === 0;
      });
      return "no pod, Service or claim is left";
    },
  },
];

/** What the operator runs from. */
async function image(shell: Shell): Promise<string> {
  const stored = await shell.keelson("image", "list");
  const found = /[\w./-]*etcd-operator:[\w.]+/.exec(stored)?.[0];
  if (found === undefined) throw new Error(`the store has no image of the operator: ${stored}`);
  return found;
}
