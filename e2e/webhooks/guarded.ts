/** A cluster with the operator in it, and what the scenarios do to both. */
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { loadOperator, manifestsFor, readProject } from "@keelson/cli";
import { type Client, connect } from "@keelson/client";
import { forwardConnector } from "keelson";
import {
  CustomResourceDefinition,
  Deployment,
  MutatingWebhookConfiguration,
  Pod,
  Secret,
  ValidatingWebhookConfiguration,
} from "keelson/kinds";
import type { ControlPlaneName } from "../operator/control-plane.ts";
import { eventually } from "../operator/eventually.ts";
import { makeOperatorImages } from "../operator/images.ts";
import { type Reachable, startReachable } from "../operator/reachable.ts";

const image = "keelson-e2e/guard-operator:1";
const folder = join(import.meta.dirname, "operator");
/** The operator's name, its namespace, and the prefix of what belongs to it. */
export const operatorName = "guard-operator";
export const secretRef = { namespace: operatorName, name: `${operatorName}-webhook` };
const deploymentRef = { namespace: operatorName, name: operatorName };

export class Guarded implements AsyncDisposable {
  readonly client: Client;
  readonly say: (sentence: string) => void;
  readonly #cluster: Reachable;
  readonly #stack: AsyncDisposableStack;

  private constructor(
    client: Client,
    cluster: Reachable,
    stack: AsyncDisposableStack,
    say: (sentence: string) => void,
  ) {
    this.client = client;
    this.#cluster = cluster;
    this.#stack = stack;
    this.say = say;
  }

  /** Resolves when two replicas serve. */
  static async start(controlPlane: ControlPlaneName, say: (sentence: string) => void): Promise<Guarded> {
    await using stack = new AsyncDisposableStack();
    const project = readProject(folder);
    await makeOperatorImages(project, [image, `${image}-b`], say);
    const cluster = await startReachable(stack, { controlPlane, name: "e2e-webhooks", say });
    // A failure is a failure: nothing is sent again behind the back of who counts.
    const client = await connect({ kubeconfig: cluster.kubeconfig, retries: 0 });
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
    await this.#cluster.inject({ kind: "kill", pod: { namespace: operatorName, name } });
  }

  async secret(): Promise<Readonly<Record<string, string>>> {
    const { data = {} } = await this.client.kind(Secret).get(secretRef);
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
    );
  }

  /** Empties the Secret, and resolves when what was made in its place is believed. */
  async renew(): Promise<void> {
    const secrets = this.client.kind(Secret);
    const before = (await this.secret())["tls.crt"];
    await secrets.patch(secretRef, { type: "merge", body: { data: null } as never });
    await eventually("another certificate is served and believed", 60_000, async () => {
      const { "tls.crt": leaf, "ca.crt": authorities = "" } = await this.secret();
      if (leaf === undefined || leaf === before) return false;
      const ref = { name: operatorName };
      const caBundle = Buffer.from(authorities).toString("base64");
      const mutating = await this.client.kind(MutatingWebhookConfiguration).get(ref);
      const validating = await this.client.kind(ValidatingWebhookConfiguration).get(ref);
      const entries = [...(mutating.webhooks ?? []), ...(validating.webhooks ?? [])];
      if (entries.some(({ clientConfig }) => clientConfig.caBundle !== caBundle)) return false;
      for (const pod of await this.pods()) await this.certificateOf(pod, authorities);
      return true;
    });
    await this.serves();
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
