/** The operator as people install it: its manifests applied, its Deployment running from its own image. */
import { loadOperator, manifestsFor } from "@keelson/cli";
import { type Client, isNotFound } from "@keelson/client";
import { CustomResourceDefinition, Deployment, Lease, Pod } from "keelson/kinds";
import { eventually } from "./eventually.ts";

type Project = Parameters<typeof loadOperator>[0];

export class Installation {
  readonly #client: Client;
  readonly #project: Project;

  constructor(client: Client, project: Project) {
    this.#client = client;
    this.#project = project;
  }

  get #namespace(): string {
    return this.#project.name;
  }

  get #deployment(): { namespace: string; name: string } {
    return { namespace: this.#namespace, name: this.#project.name };
  }

  /** Installs, or upgrades what is there. Resolves when the operator works. */
  async install(image: string): Promise<void> {
    for (const manifest of await this.#manifests(image)) {
      const kind = await this.#client.discover(manifest.apiVersion, manifest.kind);
      await eventually(`${manifest.kind} ${manifest.metadata.name} is applied`, 20_000, async () => {
        await this.#client.kind(kind).apply(manifest as never, { force: true });
        return true;
      });
      if (manifest.kind === CustomResourceDefinition.kind) await this.#established(manifest.metadata.name);
    }
    await this.#running(1);
  }

  /** Takes the operator away with 0, and brings it back with 1. */
  async scale(replicas: number): Promise<void> {
    await this.#client
      .kind(Deployment)
      .patch(this.#deployment, { type: "merge", body: { spec: { replicas } } });
    await this.#running(replicas);
  }

  /** Resolves when an operator leads and works: after an outage of the API server it comes back later than what it runs. */
  async leads(): Promise<void> {
    const leases = this.#client.kind(Lease);
    const renewed = async () => (await leases.find(this.#deployment))?.spec?.renewTime;
    const before = await renewed();
    await eventually("the operator leads", 120_000, async () => (await renewed()) !== before);
  }

  /** Takes everything away but the custom resources: with those, the clusters themselves would go. */
  async remove(): Promise<void> {
    const kept: readonly string[] = [CustomResourceDefinition.kind, "Namespace"];
    const manifests = await this.#manifests("gone");
    for (const { apiVersion, kind, metadata } of manifests.reverse()) {
      if (kept.includes(kind)) continue;
      const found = await this.#client.discover(apiVersion, kind);
      await this.#client
        .kind(found)
        .delete(metadata)
        .catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
      // With its rights it gives its lease back; without them its successor would have to wait for that to run out.
      if (kind === Deployment.kind)
        await eventually("the operator is gone", 90_000, async () => (await this.pods()).length === 0);
    }
  }

  /** Names of the operator's pods. */
  async pods(): Promise<string[]> {
    const { items } = await this.#client.kind(Pod).list({ namespace: this.#namespace });
    return items.map(({ metadata }) => metadata.name);
  }

  /** The pod of the operator, for faults. */
  async pod(): Promise<{ namespace: string; name: string }> {
    const [name] = await this.pods();
    if (name === undefined) throw new Error("the operator has no pod");
    return { namespace: this.#namespace, name };
  }

  async #running(replicas: number): Promise<void> {
    await eventually(`the operator has ${replicas} pods that work`, 120_000, async () => {
      const { metadata, status } = await this.#client.kind(Deployment).get(this.#deployment);
      return (
        status?.observedGeneration === metadata.generation &&
        (status?.availableReplicas ?? 0) === replicas &&
        (status?.updatedReplicas ?? 0) === replicas &&
        (await this.pods()).length === replicas
      );
    });
  }

  async #manifests(image: string) {
    const parts = await loadOperator(this.#project);
    return manifestsFor(this.#project, parts, { namespace: this.#namespace, image, replicas: 1 });
  }

  async #established(name: string): Promise<void> {
    await eventually(`${name} is served`, 20_000, async () => {
      const { status } = await this.#client.kind(CustomResourceDefinition).get({ name });
      return (
        status?.conditions?.some(({ type, status: is }) => type === "Established" && is === "True") ?? false
      );
    });
  }
}
