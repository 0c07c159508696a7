/** A cluster with the operator in it, and what the scenarios do to both. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { buildImage, loadOperator, manifestsFor, readProject } from "@keelson/cli";
import { type Client, connect } from "@keelson/client";
import { clusterDown, clusterUp, injectFault } from "@keelson/cluster";
import { loadImages } from "@keelson/images";
import { forwardConnector } from "keelson";
import { CustomResourceDefinition, Deployment, Pod, Secret } from "keelson/kinds";
import { eventually } from "../operator/eventually.ts";

const image = "keelson-e2e/guard-operator:1";
const folder = join(import.meta.dirname, "operator");
/** The operator's name, its namespace, and the prefix of what belongs to it. */
export const operatorName = "guard-operator";
export const secretRef = { namespace: operatorName, name: `${operatorName}-webhook` };
const deploymentRef = { namespace: operatorName, name: operatorName };

export class Guarded implements AsyncDisposable {
  readonly client: Client;
  readonly say: (sentence: string) => void;
  readonly #cluster: string;
  readonly #stack: AsyncDisposableStack;

  private constructor(
    client: Client,
    cluster: string,
    stack: AsyncDisposableStack,
    say: (sentence: string) => void,
  ) {
    this.client = client;
    this.#cluster = cluster;
    this.#stack = stack;
    this.say = say;
  }

  /** Resolves when two replicas serve. */
  static async start(say: (sentence: string) => void, built: boolean): Promise<Guarded> {
    await using stack = new AsyncDisposableStack();
    const project = readProject(folder);
    if (!built) await installImage(project, say);
    const cluster = `e2e-webhooks-${process.pid}`;
    const { kubeconfig, pid } = await clusterUp({ name: cluster, onProgress: say });
    // The cluster runs in the background: it must not outlive a run that breaks off.
    process.once("exit", () => end(pid));
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
    stack.defer(async () => void (await clusterDown(cluster)));
    // A failure is a failure: nothing is sent again behind the back of who counts.
    const client = await connect({ kubeconfig, retries: 0 });
    stack.defer(() => client.close());
    const parts = await loadOperator(project);
    const options = { namespace: operatorName, image, replicas: 2 };
    const guarded = new Guarded(client, cluster, stack.move(), say);
    await guarded.#apply(manifestsFor(project, parts, options));
    await guarded.serves();
    return guarded;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }

  /** Has both replicas run with these settings, and resolves when they serve. */
  async configure(environment: Readonly<Record<string, string>>): Promise<void> {
    const env = Object.entries(environment).map(([name, value]) => ({ name, value }));
    const containers = [{ name: "operator", env }];
    await this.client.kind(Deployment).patch(deploymentRef, {
      type: "strategic",
      body: { spec: { template: { spec: { containers } } } } as never,
    });
    await this.serves();
  }

  /** Resolves when both replicas are ready and no other pod of the operator is left. */
  async serves(): Promise<void> {
    await eventually("two replicas serve", 180_000, async () => {
      const { metadata, status } = await this.client.kind(Deployment).get(deploymentRef);
      const { observedGeneration, updatedReplicas, readyReplicas, replicas } = status ?? {};
      if (observedGeneration !== metadata.generation) return false;
      return [updatedReplicas, readyReplicas, replicas, (await this.pods()).length].every((n) => n === 2);
    });
  }

  async pods(): Promise<string[]> {
    const { items } = await this.client.kind(Pod).list({ namespace: operatorName });
    return items.map(({ metadata }) => metadata.name);
  }

  /** Ends the process of a pod without a word to anyone. */
  async kill(name: string): Promise<void> {
    await injectFault({ kind: "kill", pod: { namespace: operatorName, name } }, this.#cluster);
  }

  async secret(): Promise<Readonly<Record<string, string>>> {
    const { data = {} } = await this.client.kind(Secret).get(secretRef);
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
    );
  }

  /** The certificate that a pod shows to who believes in `authorities`. */
  async certificateOf(pod: string, authorities: string): Promise<string> {
    await using link = await forwardConnector(this.client)(
      { pod: { namespace: operatorName, name: pod } },
      9443,
      { namespace: operatorName, signal: AbortSignal.timeout(30_000) },
    );
    const { host, port } = link;
    const servername = `${secretRef.name}.${operatorName}.svc`;
    return await new Promise((resolve, reject) => {
      const socket = connectTls({ host, port, servername, ca: authorities }, () => {
        resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? "");
        socket.destroy();
      });
      socket.once("error", reject);
    });
  }

  async #apply(manifests: ReturnType<typeof manifestsFor>): Promise<void> {
    for (const manifest of manifests) {
      const kind = await this.client.discover(manifest.apiVersion, manifest.kind);
      await eventually(`${manifest.kind} ${manifest.metadata.name} is applied`, 30_000, async () => {
        await this.client.kind(kind).apply(manifest as never, { force: true });
        return true;
      });
      if (manifest.kind !== CustomResourceDefinition.kind) continue;
      await eventually(`${manifest.metadata.name} is served`, 30_000, async () => {
        const { status } = await this.client.kind(CustomResourceDefinition).get(manifest.metadata);
        const conditions = status?.conditions ?? [];
        return conditions.some(({ type, status: is }) => type === "Established" && is === "True");
      });
    }
  }
}

async function installImage(
  project: ReturnType<typeof readProject>,
  say: (sentence: string) => void,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "keelson-e2e-image-"));
  try {
    const { archive } = await buildImage(project, { image, base: "node:24", onProgress: say });
    const path = join(directory, "image.tar");
    await writeFile(path, archive);
    await loadImages(path);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch {
    // It has ended.
  }
}
