/** What a manager costs: one that keeps a child and a status for each object, ours and the peers'. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { type Client, connect } from "@keelson/client";
import { dynamicKind } from "@keelson/core";
import { ConfigMap } from "@keelson/core/kinds";
import { type Contender, environment, run } from "./sdk-contenders.ts";

const Part = dynamicKind({
  group: "bench.keelson.dev",
  version: "v1",
  kind: "Part",
  resource: "parts",
  scope: "Namespaced",
});

export interface ManagerCost {
  /** From its start until each object has its child and its status and nothing moves any more. */
  readonly writing: { readonly perSecond: number; readonly cpuUsPerObject: number };
  /** Every object is looked at again, and nothing is to be done. */
  readonly checking: { readonly perSecond: number; readonly cpuUs: number };
  /** CPU while nothing happens, of one core. */
  readonly idleShare: number;
  readonly rssMb: number;
}

/** Until what a burst of work left has been collected: by ours within ten seconds, and once more by V8 eight seconds later. */
const settleMs = 22_000;

export interface ManagerOptions {
  readonly kubeconfig: string;
  /** Where its objects are, and nobody else's. */
  readonly namespace: string;
  readonly objects: number;
  /** How often all objects are looked at again. */
  readonly passes: number;
  readonly idleMs: number;
}

/** Makes the objects, before anyone looks. */
export async function prepare(ours: Contender, options: ManagerOptions): Promise<void> {
  const { kubeconfig, namespace, objects } = options;
  await run(ours, "manager", ["prepare", kubeconfig, namespace, String(objects)]);
}

export async function measureManager(contender: Contender, options: ManagerOptions): Promise<ManagerCost> {
  const { kubeconfig, namespace, objects, passes, idleMs } = options;
  const [program, ...first] = contender.command("manager");
  const child = spawn(program, [...first, kubeconfig, namespace, String(objects)], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...environment(), ...contender.env },
  });
  try {
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const line = async () => {
      const { value, done } = await lines.next();
      if (done) throw new Error(`${contender.name} ended`);
      return value;
    };
    const phase = async (command: string) => {
      const before = cpuMs(child);
      child.stdin.write(`${command}\n`);
      const { reconciles, ms } = JSON.parse(await line()) as { reconciles: number; ms: number };
      return { reconciles, ms, cpuMs: cpuMs(child) - before };
    };
    if ((await line()) !== "ready") throw new Error(`${contender.name} did not become ready`);
    const writing = await phase("start");
    const client = await connect({ kubeconfig });
    await checkWork(client, namespace, objects);
    await client.close();
    const checks: Awaited<ReturnType<typeof phase>>[] = [];
    for (let pass = 1; pass <= passes; pass++) checks.push(await phase("again"));
    const sum = (of: (each: (typeof checks)[number]) => number) =>
      checks.reduce((all, each) => all + of(each), 0);
    const reconciles = sum((each) => each.reconciles);
    await pause(settleMs);
    const before = cpuMs(child);
    await pause(idleMs);
    return {
      writing: {
        // Of objects: how often each is looked at differs.
        perSecond: objects / (writing.ms / 1000),
        cpuUsPerObject: (writing.cpuMs * 1000) / objects,
      },
      checking: {
        perSecond: reconciles / (sum(({ ms }) => ms) / 1000),
        cpuUs: (sum((each) => each.cpuMs) * 1000) / reconciles,
      },
      idleShare: (cpuMs(child) - before) / idleMs,
      rssMb: rssMb(child),
    };
  } finally {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
}

/** A fast manager must have done the work. */
async function checkWork(client: Client, namespace: string, objects: number): Promise<void> {
  const sizes = new Map<string, string | undefined>();
  for await (const { metadata, data } of client.kind(ConfigMap).each({ namespace })) {
    if (metadata.ownerReferences?.some(({ kind }) => kind === Part.kind))
      sizes.set(metadata.name, data?.["size"]);
  }
  let right = 0;
  for await (const part of client.kind(Part).each({ namespace })) {
    const { spec, status } = part as unknown as { spec: { size: number }; status?: { size?: number } };
    const { name } = part.metadata;
    if (sizes.get(name) === String(spec.size) && status?.size === spec.size) right++;
  }
  if (right !== objects) throw new Error(`${right} of ${objects} objects have their child and their status`);
}

/** CPU of all threads of a process, which `/proc` tells in nanoseconds. */
export function cpuMs({ pid }: ChildProcess): number {
  const tasks = `/proc/${pid}/task`;
  const ns = readdirSync(tasks).map((task) =>
    Number(readFileSync(join(tasks, task, "schedstat"), "utf8").split(" ")[0]),
  );
  return ns.reduce((all, each) => all + each, 0) / 1e6;
}

function rssMb({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}
