/** The operator as people install it: its manifests applied, its Deployment running from its own image. */
import { loadOperator, manifestsFor } from "@keelson/cli";
import { type Client, isNotFound } from "@keelson/client";
import { CustomResourceDefinition, Deployment, Pod } from "keelson/kinds";
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

  /** Installs, or upgrades what is there. Resolves when the operator works. */
  async install(image: string): Promise<void> {
    for (const manifest of await this.#manifests(image)) {
      const kind = await this.#client.discover(manifest.apiVersion, manifest.kind);
      await eventually(`${manifest.kind} ${manifest.metadata.name} is applied`, 10_000, async () => {
        await this.#client.kind(kind).apply(manifest as never, { force: true });
        return true;
      });
      if (manifest.kind === CustomResourceDefinition.kind) await this.#established(manifest.metadata.name);
    }
    await eventually("the operator works", 90_000, async () => {
      const { metadata, spec, status } = await this.#client.kind(Deployment).get({
        namespace: this.#namespace,
        name: this.#project.name,
      });
      const pods = await this.pods();
      return (
        status?.observedGeneration === metadata.generation &&
        status?.availableReplicas === spec?.replicas &&
        status?.updatedReplicas === spec?.replicas &&
        pods.length === 1
      );
    });
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
