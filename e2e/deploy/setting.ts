/** Where deployments are tried: a cluster with real pods, an operator's project, and what watches its Lease. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadOperator, main, readProject } from "@keelson/cli";
import { type Client, connect } from "@keelson/client";
import type { ControlPlaneName } from "../operator/control-plane.ts";
import { eventually } from "../operator/eventually.ts";
import { startReachable } from "../operator/reachable.ts";

const directory = join(import.meta.dirname, "operator");

export interface Setting extends AsyncDisposable {
  readonly client: Client;
  readonly kubeconfig: string;
  readonly controlPlane: ControlPlaneName;
  readonly project: ReturnType<typeof readProject>;
  readonly parts: Awaited<ReturnType<typeof loadOperator>>;
  /** For files. */
  readonly scratch: string;
  readonly say: (sentence: string) => void;
}

/** Two nodes: replicas spread. */
export async function startSetting(
  controlPlane: ControlPlaneName,
  say: (sentence: string) => void,
): Promise<Setting> {
  const stack = new AsyncDisposableStack();
  try {
    const { kubeconfig } = await startReachable(stack, { controlPlane, name: "e2e-deploy", say });
    const client = await connect({ kubeconfig });
    stack.defer(async () => await client.close());
    const scratch = await mkdtemp(join(tmpdir(), "keelson-e2e-deploy-"));
    stack.defer(async () => await rm(scratch, { recursive: true, force: true }));
    const project = readProject(directory);
    const parts = await loadOperator(project);
    const end = async () => await stack.disposeAsync();
    return { client, kubeconfig, controlPlane, project, parts, scratch, say, [Symbol.asyncDispose]: end };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** The keelson command, as a person types it. */
export async function keelson(...args: readonly string[]): Promise<void> {
  process.exitCode = undefined;
  const code = await main(args);
  process.exitCode = undefined;
  if (code !== 0) throw new Error(`keelson ${args.join(" ")} ended with ${code}`);
}

export async function soon(what: string, holds: () => Promise<boolean>, withinMs = 60_000): Promise<void> {
  await eventually(what, withinMs, holds);
}
