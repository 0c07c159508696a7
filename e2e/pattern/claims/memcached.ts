/** Memcached, the first operator of every tutorial: its size is the number of its pods. */
import type { Claim } from "../claim.ts";
import { expect, type Shell } from "../shell.ts";

const name = "memcached-sample";
const target = `memcached/${name}`;
const own = ["-l", `app=memcached,instance=${name}`] as const;

const sample = (size: number, more: object = {}) => ({
  apiVersion: "cache.keelson.dev/v1alpha1",
  kind: "Memcached",
  metadata: { name, ...more },
  spec: { size },
});

/** Pods that stay. */
async function pods(shell: Shell): Promise<string[]> {
  interface Pod {
    metadata: { name: string; deletionTimestamp?: string };
  }
  const all = await shell.objects<Pod>("pods", ...own);
  return all
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name)
    .sort();
}

async function made(shell: Shell): Promise<void> {
  await shell.deployed("memcached");
  await shell.apply(sample(3));
  await shell.wait(target, "condition=Ready");
}

/** The Deployment, the pods and the status all say this many. */
async function sized(shell: Shell, size: number): Promise<void> {
  await shell.wait(target, "condition=Ready");
  await shell.wait(`deployment/${name}`, `jsonpath={.status.readyReplicas}=${size}`);
  await shell.until(`${size} pods, and the status names them`, async () => {
    const names = await pods(shell);
    const nodes = JSON.parse(await shell.value(target, ".status.nodes")) as string[];
    return names.length === size && JSON.stringify(names) === JSON.stringify(nodes.sort());
  });
}

export const memcachedClaims: readonly Claim[] = [
  {
    id: "memcached-run",
    promise: "The operator can run on a developer's machine, outside the cluster, against its API",
    commands: ["keelson run --crds", "kubectl apply -f memcached.yaml", "Ctrl-C"],
    run: async (shell) => {
      const operator = shell.start("run", "--crds", "--directory", shell.directoryOf("memcached"));
      await shell.until("the kind is served", async () => (await shell.kubectl("get", "memcached")) !== "-");
      await shell.apply(sample(1));
      await shell.wait(target, "condition=Ready");
      await shell.kubectl("delete", target, "--cascade=foreground");
      const { code, stderr } = await operator.stop();
      expect("it ended well after Ctrl-C", code === 0, stderr);
      return "one server ready; ended with 0";
    },
  },
  {
    id: "memcached-create",
    promise: "A Memcached of size 3 becomes a Deployment of three pods, behind a Service that answers",
    commands: ["keelson deploy", "kubectl apply -f memcached.yaml", "kubectl get deployment,pods"],
    run: async (shell) => {
      await made(shell);
      const line = await shell.kubectl("get", "deployment", name, "--no-headers");
      expect("the Deployment is 3/3", / 3\/3 /.test(line), line);
      const [pod = "", ...others] = await pods(shell);
      expect("there are three pods", others.length === 2, others);
      const script = `exec 3<>/dev/tcp/${name}/11211; printf 'set a 0 0 5\\r\\nhello\\r\\nget a\\r\\nquit\\r\\n' >&3; cat <&3`;
      const said = await shell.exec(pod, "bash", "-c", script);
      expect("what was set is got", /STORED\s+VALUE a 0 5\s+hello/.test(said), said);
      return "3/3; a value set through the Service is read back";
    },
  },
  {
    id: "memcached-status",
    promise: "Its status lists the names of its pods, and follows when a pod is replaced",
    commands: ["kubectl get memcached/memcached-sample -o yaml", "kubectl delete pod POD"],
    run: async (shell) => {
      await made(shell);
      await sized(shell, 3);
      const [victim = ""] = await pods(shell);
      await shell.kubectl("delete", "pod", victim);
      await sized(shell, 3);
      const nodes = await shell.value(target, ".status.nodes");
      expect("the deleted pod is not among them", !nodes.includes(victim), nodes);
      return "three names, with a new one after a deletion";
    },
  },
  {
    id: "memcached-resize",
    promise: "Changing the size in the spec changes the Deployment, however it is changed",
    commands: [
      `kubectl patch memcached memcached-sample -p '{"spec":{"size": 5}}' --type=merge`,
      "kubectl edit memcached/memcached-sample",
      "kubectl scale memcached/memcached-sample --replicas=3",
    ],
    run: async (shell) => {
      await made(shell);
      await shell.kubectl("patch", "memcached", name, "-p", '{"spec":{"size": 5}}', "--type=merge");
      await sized(shell, 5);
      await shell.edit(target, "s/size: 5/size: 2/");
      await sized(shell, 2);
      await shell.kubectl("scale", target, "--replicas=3");
      await sized(shell, 3);
      return "5 by patch, 2 by edit, 3 by scale";
    },
  },
  {
    id: "memcached-drift",
    promise: "What others change in its Deployment is put back, and a deleted one is made again",
    commands: ["kubectl scale deployment/memcached-sample --replicas=1", "kubectl delete deployment …"],
    run: async (shell) => {
      await made(shell);
      await shell.kubectl("scale", `deployment/${name}`, "--replicas=1");
      await shell.wait(`deployment/${name}`, "jsonpath={.spec.replicas}=3");
      const before = await shell.value(`deployment/${name}`, ".metadata.uid");
      await shell.kubectl("delete", "deployment", name);
      await shell.until("there is another Deployment", async () => {
        const after = await shell.value(`deployment/${name}`, ".metadata.uid");
        return after !== "" && after !== before;
      });
      await sized(shell, 3);
      return "three again, both times";
    },
  },
  {
    id: "memcached-delete",
    promise: "Deleting it deletes everything that it led to",
    commands: ["kubectl delete memcached memcached-sample"],
    run: async (shell) => {
      await made(shell);
      await shell.kubectl("delete", "memcached", name);
      await shell.until("its children are gone", async () => {
        const left = await shell.names("deployment,replicaset,pod", ...own);
        const services = await shell.names("service", "--field-selector", `metadata.name=${name}`);
        return left.length + services.length === 0;
      });
      return "no Deployment, pod or Service is left";
    },
  },
];
