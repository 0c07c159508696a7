/** The operator as people install it: its manifests applied, its Deployment running from its own image. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildImage, loadOperator, manifestsFor, readProject } from "@keelson/cli";
import type { Client } from "@keelson/client";
import { Images, loadImages, parseImageReference } from "@keelson/images";
import { CustomResourceDefinition, Deployment, Lease, Pod } from "keelson/kinds";
import { eventually } from "../etcd/eventually.ts";

const project = readProject(join(import.meta.dirname, "../../operators/database"));
const namespace = project.name;
const deployment = { namespace, name: project.name };

/** The operator as installed, and as upgraded to: the same program under a newer tag. */
export const operatorImages = ["keelson-e2e/database-operator:1", "keelson-e2e/database-operator:2"] as const;

export async function makeOperatorImages(say: (sentence: string) => void): Promise<void> {
  const [first, second] = operatorImages;
  const directory = await mkdtemp(join(tmpdir(), "keelson-e2e-image-"));
  try {
    const { archive } = await buildImage(project, { image: first, base: "node:24", onProgress: say });
    const path = join(directory, "image.tar");
    await writeFile(path, archive);
    await loadImages(path);
    const { store } = new Images();
    const stored = (await store.list()).find(({ name }) => name.endsWith(first));
    if (!stored) throw new Error(`${first} is not in the store`);
    await store.name(parseImageReference(second), { digest: stored.digest, size: 0 }, "store");
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

export class Installation {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Installs, or upgrades what is there. Resolves when the operator works. */
  async install(image: string): Promise<void> {
    const manifests = manifestsFor(project, await loadOperator(project), { namespace, image, replicas: 1 });
    for (const manifest of manifests) {
      const kind = await this.#client.discover(manifest.apiVersion, manifest.kind);
      await eventually(`${manifest.kind} ${manifest.metadata.name} is applied`, 20_000, async () => {
        await this.#client.kind(kind).apply(manifest as never, { force: true });
        return true;
      });
      if (manifest.kind === CustomResourceDefinition.kind) await this.#established(manifest.metadata.name);
    }
    await this.#running(1);
  }

  /** Takes the operator away, and brings it back. */
  async scale(replicas: number): Promise<void> {
    await this.#client.kind(Deployment).patch(deployment, { type: "merge", body: { spec: { replicas } } });
    await this.#running(replicas);
  }

  /** Resolves when an operator leads and works: after an outage of the API server it comes back later than the databases. */
  async leads(): Promise<void> {
    const leases = this.#client.kind(Lease);
    const renewed = async () => (await leases.find(deployment))?.spec?.renewTime;
    const before = await renewed();
    await eventually("the operator leads", 120_000, async () => (await renewed()) !== before);
  }

  async #running(replicas: number): Promise<void> {
    await eventually(`the operator has ${replicas} pods`, 120_000, async () => {
      const { metadata, status } = await this.#client.kind(Deployment).get(deployment);
      const { items } = await this.#client.kind(Pod).list({ namespace });
      return (
        status?.observedGeneration === metadata.generation &&
        (status?.availableReplicas ?? 0) === replicas &&
        (status?.updatedReplicas ?? 0) === replicas &&
        items.length === replicas
      );
    });
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
