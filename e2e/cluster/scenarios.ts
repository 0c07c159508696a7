/** What the embedded cluster promises, done as a person would and measured. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Promised, seconds, timed } from "../promises/promises.ts";
import { autoscaling } from "./autoscaling.ts";
import type { Machine } from "./machine.ts";
import { deployment, etcdService, etcdSet, webService } from "./manifests.ts";
import { Visitors, visit } from "./visitors.ts";

type Scenario = Promised<Machine>;

/** Whatever release this machine has. */
const etcdImage = "gcr.io/etcd-development/etcd";

function within(values: readonly number[], goalMs: number): string {
  const sorted = values.toSorted((a, b) => a - b);
  const median = sorted[sorted.length >> 1] ?? Number.NaN;
  const measured = `median ${seconds(median)} of ${values.length}, best ${seconds(sorted[0] ?? Number.NaN)}`;
  if (median > goalMs) throw new Error(`more than ${seconds(goalMs)}: ${measured}`);
  return measured;
}

const up: Scenario = {
  id: "up",
  promise: "`keelson cluster up` to a Ready node and a served API in ≤ 2 s",
  async run(machine) {
    const times: number[] = [];
    for (let round = 0; round < 5; round++) {
      times.push(await timed(() => machine.keelson("cluster", "up")));
      const nodes = await machine.kubectl("get", "nodes", "--no-headers");
      if (!/ Ready /.test(nodes)) throw new Error(`the node is not Ready: ${nodes}`);
      await machine.keelson("cluster", "down");
    }
    return within(times, 2_000);
  },
};

const web: Scenario = {
  id: "web",
  promise:
    "a Deployment of nginx: scaled from one to three, a pod deleted; its Service answers all the while",
  async run(machine, say) {
    await machine.keelson("cluster", "up");
    await machine.apply(deployment, webService);
    await machine.kubectl("rollout", "status", "deployment/web", "--timeout=120s");
    const port = await machine.kubectl("get", "svc", "web", "-o", "jsonpath={.spec.ports[0].nodePort}");
    const url = `http://127.0.0.1:${port}/`;
    await answers(url);
    const visitors = new Visitors(url);
    const names = async () =>
      (await machine.kubectl("get", "pods", "-l", "app=web", "-o", "name")).trim().split("\n");
    say("scale to three");
    await machine.kubectl("scale", "deployment/web", "--replicas=3");
    await machine.kubectl("rollout", "status", "deployment/web", "--timeout=60s");
    const [victim = "", ...others] = await names();
    say(`delete ${victim}`);
    await machine.kubectl("delete", victim);
    await machine.kubectl("rollout", "status", "deployment/web", "--timeout=60s");
    const after = await names();
    await sleep(1_000);
    const { answered, failures } = await visitors.stop();
    await machine.keelson("cluster", "down");
    const measured = `${answered} requests answered, ${failures.length} failed`;
    const replaced =
      after.length === 3 && !after.includes(victim) && others.every((name) => after.includes(name));
    if (!replaced) throw new Error(`the pods afterwards: ${after.join(", ")}`);
    if (failures.length > 0) throw new Error(`${measured}: ${[...new Set(failures)].join("; ")}`);
    return measured;
  },
};

/** A service answers once its rules are in place, a moment after its pods are ready. */
async function answers(url: string): Promise<void> {
  const until = performance.now() + 10_000;
  while ((await visit(url).catch(() => 0)) !== 200) {
    if (performance.now() > until) throw new Error(`${url} does not answer`);
    await sleep(20);
  }
}

const etcdctl = (machine: Machine, pod: string, ...args: string[]) =>
  machine.kubectl("exec", pod, "--", "etcdctl", ...args);

async function threeReady(machine: Machine): Promise<void> {
  try {
    await machine.kubectl("rollout", "status", "statefulset/etcd", "--timeout=60s");
  } catch (error) {
    throw new Error(await machine.kubectl("get", "pods,events"), { cause: error });
  }
}

const etcd: Scenario = {
  id: "etcd",
  promise: "three real etcd members with claims and a headless service Ready in ≤ 10 s",
  async run(machine, say) {
    const times: number[] = [];
    for (let round = 0; round < 3; round++) {
      await machine.keelson("cluster", "up");
      times.push(
        await timed(async () => {
          await machine.apply(etcdService, etcdSet(etcdImage));
          await threeReady(machine);
        }),
      );
      say(`ready after ${seconds(times.at(-1) ?? 0)}`);
      const list = await etcdctl(machine, "etcd-0", "member", "list");
      if (list.match(/started/g)?.length !== 3) throw new Error(`not three members: ${list}`);
      await machine.keelson("cluster", "down");
    }
    return within(times, 10_000);
  },
};

const replaced: Scenario = {
  id: "replaced",
  promise: "a deleted pod of the set is back with its data and its name",
  async run(machine) {
    await machine.keelson("cluster", "up");
    await machine.apply(etcdService, etcdSet(etcdImage));
    await threeReady(machine);
    await etcdctl(machine, "etcd-0", "put", "greeting", "hello");
    const uidOf = () => machine.kubectl("get", "pod", "etcd-1", "-o", "jsonpath={.metadata.uid}");
    const before = await uidOf();
    const spent = await timed(async () => {
      await machine.kubectl("delete", "pod", "etcd-1");
      await threeReady(machine);
    });
    const after = await uidOf();
    // From its own disk: the others are not asked.
    const value = await etcdctl(
      machine,
      "etcd-1",
      "get",
      "greeting",
      "--consistency=s",
      "--print-value-only",
    );
    await machine.keelson("cluster", "down");
    const measured = `back after ${seconds(spent)}`;
    if (before === after) throw new Error("it is the same pod");
    if (value.trim() !== "hello") throw new Error(`it has ${JSON.stringify(value)}`);
    return measured;
  },
};

const lasting: Scenario = {
  id: "lasting",
  promise: "with a data directory pods and data survive `down` and `up`, and the death of every process",
  async run(machine, say) {
    const dataDir = `${machine.home}/data`;
    const start = () => machine.keelson("cluster", "up", "--data-dir", dataDir);
    await start();
    await machine.apply(etcdService, etcdSet(etcdImage));
    await threeReady(machine);
    await etcdctl(machine, "etcd-0", "put", "greeting", "hello");
    const times: number[] = [];
    for (const death of ["down", "kill -9", "kill -9"]) {
      if (death === "down") await machine.keelson("cluster", "down");
      else {
        for (const pid of machine.left().processes) kill(pid);
        await machine.quiet();
      }
      times.push(
        await timed(async () => {
          await start();
          await threeReadyAgain(machine);
        }),
      );
      say(`after ${death}: ready again in ${seconds(times.at(-1) ?? 0)}`);
      const value = await etcdctl(machine, "etcd-2", "get", "greeting", "--print-value-only");
      if (value.trim() !== "hello") throw new Error(`after ${death} it has ${value}`);
    }
    await machine.keelson("cluster", "down");
    return `up and Ready again after ${times.map(seconds).join(", ")}`;
  },
};

/** What the set says of itself may be from before: only pods that this life of the node has started count. */
async function threeReadyAgain(machine: Machine): Promise<void> {
  const until = performance.now() + 60_000;
  for (;;) {
    const healthy = await etcdctl(machine, "etcd-0", "endpoint", "health", "--cluster").then(
      () => true,
      () => false,
    );
    if (healthy) return await threeReady(machine);
    if (performance.now() > until) throw new Error("the members did not come back in 60 s");
    await sleep(50);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone with another.
  }
}

const nothing: Scenario = {
  id: "nothing",
  promise: "nothing is left behind: after `down`, after kill -9 of everything and the next `up` and `down`",
  async run(machine) {
    const rounds: [string, () => Promise<unknown>][] = [
      ["down", () => machine.keelson("cluster", "down")],
      [
        "kill -9, up, down",
        async () => {
          for (const pid of machine.left().processes) kill(pid);
          await machine.quiet();
          await machine.keelson("cluster", "up");
          await machine.keelson("cluster", "down");
        },
      ],
    ];
    let most = 0;
    for (const [how, end] of rounds) {
      await machine.keelson("cluster", "up");
      await machine.apply(deployment, webService, etcdService, etcdSet(etcdImage));
      await machine.kubectl("rollout", "status", "deployment/web", "--timeout=60s");
      await threeReady(machine);
      most = Math.max(most, machine.left().processes.length);
      await end();
      const { processes, mounts, networks, groups, files } = await machine.quiet();
      const own = files.filter((path) => path.startsWith("state/clusters/"));
      const left = [...processes.map(String), ...mounts, ...networks, ...groups, ...own];
      if (left.length > 0) throw new Error(`after ${how}: ${left.join(", ")}`);
    }
    return `of ${most} processes 0; mounts, networks, control groups, files: 0`;
  },
};

export const scenarios: readonly Scenario[] = [up, web, etcd, replaced, lasting, nothing, autoscaling];
