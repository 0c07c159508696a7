/** A cluster with real pods and the operator beside it, for journeys through single features. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Client } from "@keelson/client";
import { EtcdBackup, EtcdBackupSchedule, EtcdCluster } from "@keelson/etcd-operator";
import { CustomResourceDefinition } from "keelson/kinds";
import { ClusterAccess } from "../etcd/cluster-access.ts";
import { type ControlPlane, type ControlPlaneName, startGround } from "../operator/control-plane.ts";
import { eventually } from "../operator/eventually.ts";

export { namespace } from "../etcd/cluster-access.ts";

export interface StageOptions {
  /** Default: `KEELSON_E2E_CONTROL_PLANE`, or the embedded one. */
  readonly controlPlane?: ControlPlaneName;
  /** Default: 1. */
  readonly nodes?: number;
}

export class Stage extends ClusterAccess implements AsyncDisposable {
  readonly kubeconfig: string;
  readonly #stack: AsyncDisposableStack;

  private constructor({ client, kubeconfig }: ControlPlane, stack: AsyncDisposableStack) {
    super(client);
    this.kubeconfig = kubeconfig;
    this.#stack = stack;
  }

  static async start(say: (sentence: string) => void, options: StageOptions = {}): Promise<Stage> {
    const chosen = process.env["KEELSON_E2E_CONTROL_PLANE"] as ControlPlaneName | undefined;
    const { controlPlane = chosen ?? "embedded", nodes = 1 } = options;
    const stack = new AsyncDisposableStack();
    try {
      process.once("SIGTERM", () => process.exit(1));
      const { plane } = await startGround(stack, { controlPlane, nodes, say });
      await install(plane.client);
      const child = await startOperator(plane.kubeconfig);
      stack.defer(async () => {
        if (child.exitCode !== null) return;
        child.kill("SIGTERM");
        await once(child, "exit");
      });
      return new Stage(plane, stack);
    } catch (error) {
      await stack.disposeAsync();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
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
