/** The example of the page "Operator pattern": what the operator of SampleDB is made of, and what it does. */
import type { Claim } from "../claim.ts";
import { expect, type Shell } from "../shell.ts";
import { example, exampleName, exampleTarget, holds, redis, sampledb } from "./redis.ts";

const namespace = ["-n", "sampledb-operator"] as const;
const deployment = "deployment/sampledb-operator";

interface Pod {
  metadata: { name: string; ownerReferences?: { kind: string }[] };
  spec: {
    containers: { image: string }[];
    initContainers?: { env?: { valueFrom?: { configMapKeyRef?: { name: string } } }[] }[];
    volumes?: { secret?: { secretName: string } }[];
  };
}

async function operatorPods(shell: Shell): Promise<string[]> {
  return await shell.names("pods", ...namespace);
}

export const sampledbClaims: readonly Claim[] = [
  {
    id: "sampledb-resource",
    promise: "A custom resource named SampleDB that you can configure into the cluster",
    commands: ["kubectl api-resources", "kubectl explain sampledb.spec", "kubectl apply -f sampledb.yaml"],
    run: async (shell) => {
      await shell.deployed("sampledb");
      const resources = await shell.kubectl("api-resources", "--api-group=sampledb.keelson.dev");
      expect("the API has SampleDBs", /^sampledbs\s+sdb\s.*\sSampleDB$/m.test(resources), resources);
      const text = await shell.kubectl("explain", "sampledb.spec.onDelete");
      expect("its fields are explained", text.includes("a last backup"), text);
      const wrong = await shell.apply(sampledb("wrong", { version: "seven" })).then(() => "", String);
      expect("a wrong version is refused", wrong.includes("spec.version"), wrong);
      await example(shell);
      return "listed, explained, validated, made";
    },
  },
  {
    id: "sampledb-deployment",
    promise: "A Deployment makes sure that a pod with the controller part of the operator runs",
    commands: [
      "kubectl get deployment -n sampledb-operator",
      "kubectl delete pod --all -n sampledb-operator",
    ],
    run: async (shell) => {
      await shell.deployed("sampledb");
      const before = await operatorPods(shell);
      await shell.kubectl("delete", "pod", "--all", ...namespace);
      await shell.kubectl("rollout", "status", deployment, "--timeout=120s", ...namespace);
      const after = await operatorPods(shell);
      expect(
        "every pod is another one",
        after.every((pod) => !before.includes(pod)),
        after,
      );
      return `${after.length} new pods in the place of ${before.length}`;
    },
  },
  {
    id: "sampledb-image",
    promise: "A container image of the operator's code",
    commands: ["keelson image list", "kubectl get pods -n sampledb-operator -o yaml"],
    run: async (shell) => {
      await shell.deployed("sampledb");
      const images = new Set(
        (await shell.objects<Pod>("pods", ...namespace)).map(({ spec }) => spec.containers[0]?.image),
      );
      const [image = ""] = images;
      expect("all pods run one image, named by its digest", images.size === 1 && /@sha256:/.test(image), [
        ...images,
      ]);
      const stored = await shell.keelson("image", "list");
      expect("the store lists it", stored.includes("sampledb-operator"), stored);
      return image.replace(/(sha256:.{12}).*/, "$1…");
    },
  },
  {
    id: "sampledb-finds",
    promise: "Controller code asks the control plane which SampleDBs are configured",
    commands: ["kubectl scale deployment/sampledb-operator --replicas=0", "kubectl apply -f sampledb.yaml"],
    run: async (shell) => {
      await shell.deployed("sampledb");
      await shell.kubectl("scale", deployment, "--replicas=0", ...namespace);
      await shell.until("no operator runs", async () => (await operatorPods(shell)).length === 0);
      await shell.apply(sampledb("found", { replicas: 0, onDelete: "Delete" }));
      const nothing = await shell.names("statefulset", "--field-selector", "metadata.name=found");
      expect("nobody has made it", nothing.length === 0, nothing);
      await shell.kubectl("scale", deployment, "--replicas=2", ...namespace);
      await shell.wait("sampledb/found", "condition=Ready");
      await shell.kubectl("delete", "sampledb", "found");
      return "one that was made while no operator ran is ready";
    },
  },
  {
    id: "sampledb-create",
    promise:
      "A new SampleDB gets PersistentVolumeClaims, a StatefulSet, and a Job for its initial configuration",
    commands: ["kubectl get pvc,statefulset,job"],
    run: async (shell) => {
      await example(shell);
      for (const ordinal of [0, 1]) {
        await shell.wait(`pvc/data-${exampleName}-${ordinal}`, "jsonpath={.status.phase}=Bound");
      }
      await shell.wait(`statefulset/${exampleName}`, "jsonpath={.status.readyReplicas}=2");
      const jobs = (await shell.names("job")).filter((name) => name.startsWith(`${exampleName}-init-`));
      expect("one Job did the initial configuration", jobs.length === 1, jobs);
      await shell.wait(`job/${jobs[0]}`, "condition=Complete");
      await holds(shell, exampleName, "greeting", "hello");
      return "two claims Bound, two servers ready, the Job complete, its data there";
    },
  },
  {
    id: "sampledb-get",
    promise: "`kubectl get SampleDB` finds the configured databases",
    commands: ["kubectl get SampleDB", "kubectl get sdb"],
    run: async (shell) => {
      await example(shell);
      const lines = (await shell.kubectl("get", "SampleDB")).split("\n");
      const line = lines.find((each) => each.startsWith(exampleName)) ?? "";
      expect(
        "it is listed with its version and its primary",
        /\s7\.0\.\d+\s+example-database-\d\s/.test(line),
        line,
      );
      const short = await shell.kubectl("get", "sdb", exampleName, "--no-headers");
      expect("its short name finds it too", short.startsWith(exampleName), short);
      return `\`${line.trim().replace(/\s+/g, " ")}\``;
    },
  },
  {
    id: "sampledb-edit",
    promise: "`kubectl edit SampleDB/example-database` changes settings, and the operator applies them",
    commands: [
      "kubectl edit SampleDB/example-database",
      "kubectl scale SampleDB/example-database --replicas=1",
    ],
    run: async (shell) => {
      await example(shell);
      const pods = await shell.value(`pod/${exampleName}-0`, ".metadata.uid");
      await shell.edit(`SampleDB/${exampleName}`, "/^spec:/,/^status:/s/noeviction/allkeys-lru/");
      await shell.wait(exampleTarget, "condition=Ready");
      await shell.until("the server has the setting", async () => {
        const found = await redis(shell, exampleName, "CONFIG", "GET", "maxmemory-policy");
        return found.includes("allkeys-lru");
      });
      const same = (await shell.value(`pod/${exampleName}-0`, ".metadata.uid")) === pods;
      await shell.edit(`SampleDB/${exampleName}`, "/^spec:/,/^status:/s/replicas: 1/replicas: 2/");
      await shell.wait(`statefulset/${exampleName}`, "jsonpath={.status.readyReplicas}=3");
      await shell.wait(exampleTarget, "condition=Ready");
      await shell.kubectl("scale", exampleTarget, "--replicas=1");
      await shell.wait(exampleTarget, "jsonpath={.status.replicas}=1");
      await shell.wait(exampleTarget, "condition=Ready");
      return `a setting ${same ? "without a restart" : "by a restart"}, and a third server, gone again by \`kubectl scale\``;
    },
  },
  {
    id: "sampledb-shape",
    promise: "The operator keeps the existing service in good shape",
    commands: ["kubectl delete pod PRIMARY", "kubectl delete service example-database"],
    run: async (shell) => {
      await example(shell);
      await redis(shell, exampleName, "SET", "shape", "good");
      const primary = await shell.value(exampleTarget, ".status.primary");
      await shell.kubectl("delete", "service", exampleName);
      await shell.kubectl("delete", "pod", primary);
      await shell.until("the Service is back and leads to a primary", async () => {
        return (await redis(shell, exampleName, "GET", "shape")) === "good";
      });
      await shell.wait(exampleTarget, "condition=Ready");
      return "the Service is there again, another server leads, and the data is there";
    },
  },
  {
    id: "sampledb-backups",
    promise:
      "The operator decides when to make a Pod that connects to the database and takes a backup, with a ConfigMap and a Secret for the connection",
    commands: [`kubectl patch SampleDB … '{"spec":{"backup":{"schedule":"* * * * *"}}}'`, "kubectl get pods"],
    run: async (shell) => {
      await example(shell);
      const schedule = async (value: string | null) =>
        await shell.kubectl(
          ...["patch", exampleTarget, "--type=merge", "-p"],
          JSON.stringify({ spec: { backup: { schedule: value } } }),
        );
      await schedule("* * * * *");
      let pod: Pod | undefined;
      await shell.until("a pod takes a backup", async () => {
        const pods = await shell.objects<Pod>("pods");
        pod = pods.find(({ metadata }) =>
          metadata.ownerReferences?.some(({ kind }) => kind === "SampleDBBackup"),
        );
        return pod !== undefined;
      });
      const { initContainers = [], volumes = [] } = pod?.spec ?? {};
      const configMaps = initContainers.flatMap(({ env = [] }) =>
        env.flatMap(({ valueFrom }) => valueFrom?.configMapKeyRef?.name ?? []),
      );
      const secrets = volumes.flatMap(({ secret }) => secret?.secretName ?? []);
      expect("it reads a ConfigMap", configMaps.includes(`${exampleName}-config`), configMaps);
      expect("it reads a Secret", secrets.length > 0, secrets);
      await schedule(null);
      const [name] = await shell.names("sampledbbackup");
      await shell.wait(`sampledbbackup/${name}`, "jsonpath={.status.phase}=Done");
      return `${name}: ConfigMap ${configMaps[0]}, Secret ${secrets[0]}; proven by a restore`;
    },
  },
  {
    id: "sampledb-upgrade",
    promise: "A database of an old version is upgraded by Jobs that the operator makes",
    commands: [`kubectl patch SampleDB … '{"spec":{"version":"8.0"}}'`, "kubectl get jobs"],
    run: async (shell) => {
      await example(shell);
      const patch = JSON.stringify({ spec: { version: "8.0" } });
      await shell.kubectl("patch", exampleTarget, "--type=merge", "-p", patch);
      const jobs = new Set<string>();
      await shell.until(
        "every server runs 8.0",
        async () => {
          for (const job of await shell.names("job")) jobs.add(job);
          const version = await shell.value(exampleTarget, ".status.version");
          const upgrade = await shell.value(exampleTarget, ".status.upgrade.phase");
          return version.startsWith("8.0") && upgrade === "";
        },
        300,
      );
      await shell.wait(exampleTarget, "condition=Ready");
      await holds(shell, exampleName, "greeting", "hello");
      const made = [...jobs].filter((name) => /-(rehearse|migrate)-/.test(name));
      expect("a Job had a part in it", made.length > 0, [...jobs]);
      return `Redis ${await shell.value(exampleTarget, ".status.version")} after ${made.length} Job(s); the data is there`;
    },
  },
  {
    id: "sampledb-delete",
    promise: "A deleted SampleDB is snapshotted first; then its StatefulSet and its volumes are removed",
    commands: ["kubectl delete SampleDB example-database", "kubectl get sampledbbackup,statefulset,pvc,pv"],
    run: async (shell) => {
      await example(shell);
      await redis(shell, exampleName, "SET", "last", "word");
      await shell.kubectl("delete", "SampleDB", exampleName, "--timeout=180s");
      const final = (await shell.names("sampledbbackup")).find((name) =>
        name.startsWith(`${exampleName}-final`),
      );
      expect("a last snapshot is there", final !== undefined);
      const phase = await shell.value(`sampledbbackup/${final}`, ".status.phase");
      expect("it is proven", phase === "Done", phase);
      await shell.until("StatefulSet and volumes are gone", async () => {
        const sets = await shell.names("statefulset");
        const claims = (await shell.names("pvc")).filter((name) => name.startsWith(`data-${exampleName}`));
        const volumes = await shell.kubectl("get", "pv", "-o", "jsonpath={..claimRef.name}");
        return !sets.includes(exampleName) && claims.length === 0 && !volumes.includes(`data-${exampleName}`);
      });
      return `${final} is proven; no StatefulSet, claim or volume is left`;
    },
  },
];
