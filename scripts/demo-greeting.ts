/** `npm run demo:greeting`: the smallest operator, from nothing to a process that heals. Each step is checked. */
import { type Client, pods } from "@keelson/client";
import { type Cluster, startCluster } from "@keelson/cluster";
import { CustomResourceDefinition, Pod } from "@keelson/core/kinds";
import { operator, silentLogger } from "@keelson/runtime";
import { until } from "@keelson/testing";
import { Greeting, greeting } from "../examples/src/greeting.ts";
import { commandLine } from "./command-line.ts";
import { exitOption, narrate } from "./narrate.ts";

const { exit } = commandLine({
  command: "npm run demo:greeting",
  does: "Shows the smallest operator, from nothing to a process that heals, and checks each step.",
  options: exitOption,
});
const here = { namespace: "default", name: "hello" };
const say = narrate();

await using cluster = await say.step("an embedded cluster: API server, controllers, a node", () =>
  startCluster({ onProgress: say.progress }),
);
const { client } = cluster;
if (cluster.pods === "simulated") {
  say.fail("this machine allows no sandboxes, so pods would be simulated: there is nothing true to show");
}
say.detail(`KUBECONFIG=${cluster.kubeconfig}`);

await say.step("a custom resource, from its schema", async () => {
  await client.kind(CustomResourceDefinition).apply(Greeting.crd());
  await until(client, CustomResourceDefinition, { name: Greeting.crd().metadata.name }, (crd) =>
    Boolean(crd?.status?.conditions?.some(({ type, status }) => type === "Established" && status === "True")),
  );
});
await using running = await say.step("its controller", () =>
  operator({
    controllers: [greeting],
    client,
    log: silentLogger,
    leaderElection: false,
    endpoints: false,
  }).start(),
);

await say.step('kubectl apply: a Greeting that says "ahoy"', async () => {
  await client.kind(Greeting).apply(Greeting.object({ metadata: here, spec: { message: "ahoy" } }));
  await ready(1);
  await expectAnswer("ahoy");
});
await say.step('an edit: now it says "farewell"', async () => {
  await client.kind(Greeting).patch(here, { type: "merge", body: { spec: { message: "farewell" } } });
  await ready(2);
  await expectAnswer("farewell");
});
await say.step("its process ended (kubectl exec … kill 1): the node starts another", async () => {
  const before = await restarts();
  await pods(client)
    .run(here, { command: ["node", "-e", "process.kill(1)"] })
    .catch(() => undefined);
  await until(
    client,
    Pod,
    here,
    (pod) => (pod?.status?.containerStatuses?.[0]?.restartCount ?? 0) > before && isReady(pod),
  );
  await expectAnswer("farewell");
});
await say.step("its pod deleted: the controller makes another", async () => {
  const { uid } = (await client.kind(Pod).get(here)).metadata;
  await client.kind(Pod).delete(here, { uid, gracePeriodSeconds: 0 });
  await until(client, Pod, here, (pod) => pod !== undefined && pod.metadata.uid !== uid && isReady(pod));
  await expectAnswer("farewell");
});
await say.step("kubectl delete: nothing is left", async () => {
  await client.kind(Greeting).delete(here);
  await until(client, Pod, here, (pod) => pod === undefined);
});
await running.stop();
say.end();

if (!exit && process.stdout.isTTY) await stayUp(cluster);
process.exit(0);

async function ready(generation: number): Promise<void> {
  await until(client, Greeting, here, (object) =>
    Boolean(
      object?.status?.observedGeneration === generation &&
        object.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True"),
    ),
  );
}

function isReady(pod: { status?: { conditions?: { type: string; status: string }[] } } | undefined): boolean {
  return Boolean(pod?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True"));
}

async function restarts(): Promise<number> {
  return (await client.kind(Pod).get(here)).status?.containerStatuses?.[0]?.restartCount ?? 0;
}

/** Asks the pod over HTTP, through a port-forward, as a person would. */
async function expectAnswer(message: string): Promise<void> {
  const answer = await ask(client);
  if (answer.trim() !== message)
    throw new Error(`expected the pod to say "${message}", and it said "${answer.trim()}"`);
  say.detail(`GET / → ${answer.trim()}`);
}

async function ask(through: Client): Promise<string> {
  await using forward = await pods(through).forward(here, { port: 8080 });
  return (await fetch(`http://127.0.0.1:${forward.localPort}/`)).text();
}

async function stayUp(up: Cluster): Promise<void> {
  console.log(`\nThe cluster stays up until Ctrl-C. In another terminal:\n`);
  console.log(`  export KUBECONFIG=${up.kubeconfig}`);
  console.log("  kubectl get nodes\n  kubectl run web --image=nginx:1.22\n  kubectl logs -f web");
  await new Promise<void>((resolve) => process.once("SIGINT", resolve));
}
