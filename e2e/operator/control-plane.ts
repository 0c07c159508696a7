/** Where the scenarios run: the embedded control plane, or the real one with our nodes joined to it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, connect } from "@keelson/client";
import { clusterDown, clusterUp } from "@keelson/cluster";
import { localVolumeProvisioner } from "@keelson/controllers";
import { type NodeHost, startNodes } from "@keelson/node";
import { startControlPlane } from "@keelson/reference/control-plane";
import { operator, silentLogger } from "keelson";
import { Node, StorageClass } from "keelson/kinds";
import { type Egress, startEgress } from "./egress.ts";
import { eventually } from "./eventually.ts";
import { letNodesJoin } from "./node-joining.ts";

export const controlPlanes = ["embedded", "reference"] as const;
export type ControlPlaneName = (typeof controlPlanes)[number];

export interface ControlPlane extends AsyncDisposable {
  readonly kubeconfig: string;
  /** With it nodes ask for a certificate of their own. */
  readonly bootstrapKubeconfig: string;
  /** As an administrator. */
  readonly client: Client;
  /** The process of the API server. */
  readonly pid: number;
  /** Where the API server cannot reach pods by itself. */
  readonly egress?: Egress;
}

interface ControlPlaneOptions {
  /** Where volumes may be made. */
  readonly directory: string;
  readonly say: (sentence: string) => void;
}

/** A control plane with nodes that run real pods. */
export interface Ground {
  readonly plane: ControlPlane;
  readonly nodes: NodeHost;
  /** Of the nodes, on this machine. */
  readonly dataDirectory: string;
}

/** Resolves when all nodes are ready. What was started ends with the stack. */
export async function startGround(
  stack: AsyncDisposableStack,
  options: {
    readonly controlPlane: ControlPlaneName;
    /** How many. */
    readonly nodes: number;
    readonly say: (sentence: string) => void;
  },
): Promise<Ground> {
  const { controlPlane, say } = options;
  const directory = await mkdtemp(join(tmpdir(), "keelson-e2e-"));
  stack.defer(async () => await rm(directory, { recursive: true, force: true }));
  const plane = stack.use(await startControlPlaneFor(controlPlane, { directory, say }));
  const dataDirectory = join(directory, "node");
  const names = Array.from({ length: options.nodes }, (_, n) => `node-${n + 1}`);
  const { bootstrapKubeconfig, client } = plane;
  const nodes = stack.use(
    await startNodes({ bootstrapKubeconfig, names, dataDirectory, simulate: "never", onProgress: say }),
  );
  plane.egress?.through(nodes);
  await eventually("the nodes are ready", 60_000, async () => {
    const { items } = await client.kind(Node).list();
    const ready = items.filter(({ status }) =>
      status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"),
    );
    return ready.length === names.length;
  });
  return { plane, nodes, dataDirectory };
}

async function startControlPlaneFor(
  name: ControlPlaneName,
  options: ControlPlaneOptions,
): Promise<ControlPlane> {
  const stack = new AsyncDisposableStack();
  try {
    return name === "embedded" ? await embedded(stack, options) : await reference(stack, options);
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** API server and controllers are one process. */
async function embedded(stack: AsyncDisposableStack, { say }: ControlPlaneOptions): Promise<ControlPlane> {
  const name = `e2e-etcd-${process.pid}`;
  const { pid, kubeconfig, bootstrapKubeconfig } = await clusterUp({ name, nodes: 0, onProgress: say });
  // The cluster runs in the background: it must not outlive a run that breaks off.
  process.once("exit", () => end(pid));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  stack.defer(async () => void (await clusterDown(name)));
  const client = await connect({ kubeconfig });
  stack.defer(async () => await client.close());
  return {
    ...{ kubeconfig, bootstrapKubeconfig, client, pid },
    [Symbol.asyncDispose]: async () => await stack.disposeAsync(),
  };
}

/** The real programs make no volumes: our provisioner does, as any other would. */
async function reference(
  stack: AsyncDisposableStack,
  { directory, say }: ControlPlaneOptions,
): Promise<ControlPlane> {
  const egress = stack.use(await startEgress(directory));
  const flags = [
    "--enable-bootstrap-token-auth=true",
    "--enable-admission-plugins=NodeRestriction",
    ...egress.flags,
  ];
  const plane = stack.use(
    await startControlPlane({ controllers: true, scheduler: true, flags: { "kube-apiserver": flags } }),
  );
  say(`kube-apiserver ${plane.version} with its controller manager and scheduler`);
  const { kubeconfig } = plane;
  const client = await connect({ kubeconfig });
  stack.defer(async () => await client.close());
  await client.kind(StorageClass).create({
    metadata: {
      name: "standard",
      annotations: { "storageclass.kubernetes.io/is-default-class": "true" },
    },
    provisioner: "keelson.dev/local",
    reclaimPolicy: "Delete",
    volumeBindingMode: "Immediate",
    allowVolumeExpansion: true,
  });
  const provisioner = await operator({
    name: "local-volume-provisioner",
    controllers: [localVolumeProvisioner({ directory: join(directory, "volumes") })],
    client,
    leaderElection: false,
    endpoints: false,
    log: silentLogger,
  }).start();
  stack.defer(async () => await provisioner.stop());
  const bootstrapKubeconfig = await letNodesJoin(client, kubeconfig, directory);
  const pid = plane.pids.get("kube-apiserver");
  if (pid === undefined) throw new Error("kube-apiserver has no process");
  return {
    ...{ kubeconfig, bootstrapKubeconfig, client, pid, egress },
    [Symbol.asyncDispose]: async () => await stack.disposeAsync(),
  };
}

function end(pid: number): void {
  try {
    // A stopped process hears nothing else.
    process.kill(pid, "SIGCONT");
    process.kill(pid, "SIGTERM");
  } catch {
    // It has ended.
  }
}
