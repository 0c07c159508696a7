/**
 * `npm run bench:webhooks`: what webhooks cost and what becomes of requests when certificates are renewed or the process
 * that serves is killed. On the embedded API server, or with `--server reference` on the real one. `--parts` for some of
 * the measurements: answers, conversions, rotation, kill.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { Agent, request } from "node:https";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Client, connect } from "@keelson/client";
import { ConfigMap, CustomResourceDefinition, MutatingWebhookConfiguration } from "@keelson/core/kinds";
import { startControlPlane } from "@keelson/reference/control-plane";
import { install } from "@keelson/runtime";
import { commandLine } from "../../scripts/command-line.ts";
import { perSecond, table } from "./measure.ts";
import { cpuMs } from "./sdk-manager.ts";
import { startEmbedded } from "./sdk-servers.ts";
import { Schedule } from "./webhooks-objects.ts";

const flags = commandLine({
  command: "npm run bench:webhooks",
  does: "What webhooks of an operator cost, and what clients notice of rotated certificates and of a killed replica.",
  options: {
    server: { text: "NAME", oneOf: ["embedded", "reference"], default: "embedded", help: "who asks" },
    seconds: { number: "N", default: 20, help: "of each measurement" },
    objects: { number: "N", default: 10000, help: "that are converted" },
    parts: { text: "NAME,…", default: "answers,conversions,rotation,kill", help: "these measurements alone" },
  },
});
const SECONDS = flags.seconds;
const OBJECTS = flags.objects;
const RATE = 500;
/** Requests before any is timed. */
const warmUp = 200;
const parts = flags.parts.split(",");

await using server = flags.server === "reference" ? await startControlPlane() : await startEmbedded();
const { kubeconfig } = server;
const client = await connect({ kubeconfig, fieldManager: "bench" });
await install(client, [Schedule]);
const rows: string[][] = [];
const row = (title: string, value: string) => {
  rows.push([title, value]);
  process.stderr.write(`${title}: ${value}\n`);
};
const port = await freePort();

if (parts.includes("answers")) {
  const operator = await startOperator(0);
  const authorities = await authoritiesOf(client);
  const before = cpuMs(operator);
  const { p50, p99, failed, answered } = await answers(authorities);
  row("CPU of an answer, µs", (((cpuMs(operator) - before) * 1000) / answered).toFixed(0));
  row(`answers at ${RATE}/s: p50, p99, ms`, `${p50.toFixed(2)}, ${p99.toFixed(2)}`);
  row("of which failed", String(failed));
  await stop(operator);
}
if (parts.includes("conversions")) {
  const operator = await startOperator(0);
  await conversions();
  await stop(operator);
}
if (parts.includes("rotation")) {
  const operator = await startOperator(4_000);
  const { sent, failed, wrong } = await requests("fail", SECONDS);
  row(`requests while certificates live 4 s: sent, failed, wrong`, `${sent}, ${failed}, ${wrong}`);
  await stop(operator);
}
for (const policy of parts.includes("kill") ? (["fail", "ignore"] as const) : []) {
  let operator = await startOperator(0);
  const load = requests(policy, SECONDS);
  await pause((SECONDS * 1000) / 3);
  operator.kill("SIGKILL");
  await pause((SECONDS * 1000) / 3);
  operator = await startOperator(0);
  const { sent, failed, unseen, wrong } = await load;
  row(
    `serving process killed, ${policy}: sent, failed, not asked, wrong`,
    `${sent}, ${failed}, ${unseen}, ${wrong}`,
  );
  await stop(operator);
}
console.log(`\n${table(["", flags.server], rows)}`);
await client.close();

/** Asks the webhook itself, as an API server would, so that only its own time counts. */
async function answers(authorities: string) {
  const agent = new Agent({ keepAlive: true, ca: authorities, maxSockets: 16 });
  const body = JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "u",
      operation: "CREATE",
      userInfo: { username: "bench" },
      object: {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "a" },
        data: { a: "b".repeat(1_000) },
      },
    },
  });
  const times: number[] = [];
  let failed = 0;
  const ask = () =>
    new Promise<void>((resolve) => {
      const began = performance.now();
      const fail = () => {
        failed++;
        resolve();
      };
      const sent = request({
        host: "127.0.0.1",
        port,
        path: "/mutate/fail?timeout=2s",
        method: "POST",
        agent,
      });
      sent.on("error", fail);
      sent.on("response", (response) => {
        response.resume();
        response.on("end", () => {
          if (response.statusCode !== 200) return fail();
          times.push(performance.now() - began);
          resolve();
        });
      });
      sent.end(body);
    });
  await Promise.all(Array.from({ length: warmUp }, ask));
  times.length = 0;
  await atRate(RATE, SECONDS, ask);
  agent.destroy();
  times.sort((a, b) => a - b);
  const at = (share: number) =>
    times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), failed, answered: times.length + warmUp };
}

/** Creates through the API server, good ones and bad ones, and looks at what each became. */
async function requests(policy: "fail" | "ignore", seconds: number) {
  let [sent, failed, unseen, wrong] = [0, 0, 0, 0];
  const one = async () => {
    const bad = sent++ % 2 === 1;
    const metadata = { namespace: "default", name: `c-${policy}-${sent}`, labels: { policy } };
    const data: Record<string, string> = bad ? { bad: "yes" } : { good: "yes" };
    try {
      const made = await client
        .kind(ConfigMap)
        .create({ metadata, data }, { dryRun: true, timeoutMs: 20_000 });
      // One that is bad and passes was not validated, whether or not it was mutated before.
      const asked = made.data?.["seen"] === "yes" && !bad;
      if (asked) return;
      unseen++;
      // Admitted without being asked is right only where failures are ignored.
      if (policy === "fail") wrong++;
    } catch (error) {
      const refused = String(error).includes("this one is bad");
      if (refused && !bad) wrong++;
      if (!refused) failed++;
    }
  };
  await atRate(50, seconds, one);
  return { sent, failed, unseen, wrong };
}

async function conversions() {
  const old = Schedule.at("v1beta1");
  await perSecond(OBJECTS, 16, (index) =>
    client.kind(Schedule).create({
      metadata: { namespace: "default", name: `s-${index}` },
      spec: { hour: String(index % 24).padStart(2, "0"), minute: "15" },
    }),
  );
  const began = performance.now();
  let right = 0;
  for await (const each of client.kind(old).each({ namespace: "default", timeoutMs: 120_000 })) {
    const { metadata, spec } = each as unknown as { metadata: { name: string }; spec: { at: string } };
    const index = Number(metadata.name.slice(2));
    if (spec.at === `${String(index % 24).padStart(2, "0")}:15`) right++;
  }
  const seconds = (performance.now() - began) / 1000;
  row(`${OBJECTS} stored objects listed at the other version: right, s`, `${right}, ${seconds.toFixed(1)}`);
  await migrate(old);
}

/** The other version becomes the stored one: every object is written once, and the old one is struck off. */
async function migrate(old: ReturnType<typeof Schedule.at>) {
  const name = Schedule.crd().metadata.name;
  const crds = client.kind(CustomResourceDefinition);
  const began = performance.now();
  const crd = await crds.get({ name });
  const versions = crd.spec.versions.map((each) => ({ ...each, storage: each.name === "v1beta1" }));
  await crds.update({ ...crd, spec: { ...crd.spec, versions } });
  let done = 0;
  const names: string[] = [];
  for await (const { metadata } of client.kind(old).each({ namespace: "default", timeoutMs: 120_000 }))
    names.push(metadata.name);
  await perSecond(names.length, 16, async (index) => {
    const ref = { namespace: "default", name: names[index] as string };
    await client.kind(old).patch(ref, { type: "merge", body: {} });
    done++;
  });
  const { status } = await crds.get({ name });
  const stored = { ...(await crds.get({ name })), status: { ...status, storedVersions: ["v1beta1"] } };
  await crds.subresource("status").update(stored as never);
  const after = (await crds.get({ name })).status?.storedVersions?.join();
  const seconds = (performance.now() - began) / 1000;
  row("storage version migrated: objects, s, stored versions", `${done}, ${seconds.toFixed(1)}, ${after}`);
}

async function atRate(rate: number, seconds: number, one: () => Promise<void>): Promise<void> {
  const all: Promise<void>[] = [];
  const began = performance.now();
  for (let index = 0; index < rate * seconds; index++) {
    const waitMs = began + (index * 1000) / rate - performance.now();
    if (waitMs > 0) await pause(waitMs);
    all.push(one());
  }
  await Promise.all(all);
}

async function authoritiesOf(from: Client): Promise<string> {
  const { webhooks } = await from.kind(MutatingWebhookConfiguration).get({ name: "bench" });
  return Buffer.from(webhooks?.[0]?.clientConfig.caBundle ?? "", "base64").toString();
}

async function startOperator(lifeMs: number): Promise<ChildProcess> {
  const script = join(import.meta.dirname, "webhooks-operator.ts");
  const conditions = process.execArgv.filter((flag) => flag.startsWith("--conditions"));
  const args = [...conditions, script, kubeconfig, String(port), String(lifeMs)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  // It must not outlive a run that breaks off.
  process.once("exit", () => child.kill("SIGKILL"));
  for await (const line of createInterface(child.stdout)) if (line === "ready") break;
  // A real server hears of configurations a little later than they are stored.
  await pause(2_000);
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await ended;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port: free } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return free;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
