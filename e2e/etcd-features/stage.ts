/** A cluster with real pods and the operator beside it, for journeys through single features. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, connect } from "@keelson/client";
import { clusterDown, clusterUp } from "@keelson/cluster";
import { startNodes } from "@keelson/cluster/node";
import { EtcdBackup, EtcdBackupSchedule, EtcdCluster, type EtcdClusterObject } from "@keelson/etcd-operator";
import { CustomResourceDefinition } from "keelson/kinds";
import { eventually } from "../etcd/eventually.ts";

export const namespace = "default";

export class Stage implements AsyncDisposable {
  readonly client: Client;
  readonly #stack: AsyncDisposableStack;

  private constructor(client: Client, stack: AsyncDisposableStack) {
    this.client = client;
    this.#stack = stack;
  }

  static async start(say: (sentence: string) => void): Promise<Stage> {
    const stack = new AsyncDisposableStack();
    try {
      const name = `e2e-features-${process.pid}`;
      const directory = await mkdtemp(join(tmpdir(), "keelson-e2e-"));
      stack.defer(async () => await rm(directory, { recursive: true, force: true }));
      const { kubeconfig, pid } = await clusterUp({ name, nodes: 0, onProgress: say });
      // The cluster runs in the background: it must not outlive a run that breaks off.
      process.once("exit", () => end(pid));
      process.once("SIGTERM", () => process.exit(1));
      stack.defer(async () => void (await clusterDown(name)));
      stack.use(
        await startNodes({
          kubeconfig,
          names: ["node-1"],
          dataDirectory: join(directory, "node"),
          simulate: "never",
          onProgress: say,
        }),
      );
      const client = await connect({ kubeconfig });
      stack.defer(async () => await client.close());
      await install(client);
      const child = await startOperator(kubeconfig);
      stack.defer(async () => {
        if (child.exitCode !== null) return;
        child.kill("SIGTERM");
        await once(child, "exit");
      });
      return new Stage(client, stack);
    } catch (error) {
      await stack.disposeAsync();
      throw error;
    }
  }

  async create(name: string, spec: object): Promise<void> {
    await this.client.kind(EtcdCluster).create({ metadata: { namespace, name }, spec } as never);
  }

  async change(name: string, spec: object): Promise<void> {
    await this.client
      .kind(EtcdCluster)
      .patch({ namespace, name }, { type: "merge", body: { spec } as never });
  }

  async annotate(name: string, annotations: Record<string, string>): Promise<void> {
    await this.client
      .kind(EtcdCluster)
      .patch({ namespace, name }, { type: "merge", body: { metadata: { annotations } } });
  }

  async get(name: string): Promise<EtcdClusterObject> {
    return await this.client.kind(EtcdCluster).get({ namespace, name });
  }

  async isReady(name: string, size: number): Promise<boolean> {
    const { status, metadata } = await this.get(name);
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    const current = status?.observedGeneration === metadata.generation;
    return current && ready?.status === "True" && status?.readyMembers === size;
  }

  async whenReady(name: string, size: number, withinMs: number): Promise<void> {
    await eventually(
      `${name} has ${size} members`,
      withinMs,
      async () => await this.isReady(name, size),
      async () => JSON.stringify((await this.get(name)).status),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch {
    // It has ended.
  }
}

async function install(client: Client): Promise<void> {
  const crds = client.kind(CustomResourceDefinition);
  for (const each of [EtcdCluster, EtcdBackup, EtcdBackupSchedule]) await crds.create(each.crd() as never);
  await eventually("the custom resources are served", 20_000, async () => {
    const { items } = await crds.list();
    return items.every(({ status }) =>
      status?.conditions?.some(({ type, status: is }) => type === "Established" && is === "True"),
    );
  });
}

async function startOperator(kubeconfig: string): Promise<ChildProcess> {
  const main = fileURLToPath(new URL("../../operators/etcd/src/main.ts", import.meta.url));
  const child = spawn(process.execPath, ["--conditions=keelson-source", main], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the operator ended with ${code}`)));
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (process.env["KEELSON_E2E_LOG"]) process.stderr.write(text);
      if (text.includes("caches are complete")) resolve();
    });
  });
  child.removeAllListeners("exit");
  return child;
}
