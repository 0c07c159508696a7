/** The operator's image, under two tags: as installed, and as upgraded to. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildImage, readProject } from "@keelson/cli";
import { Images, loadImages, parseImageReference } from "@keelson/images";

export const project = readProject(join(import.meta.dirname, "../../operators/sampledb"));
export const operatorImages = ["keelson-e2e/sampledb-operator:1", "keelson-e2e/sampledb-operator:2"] as const;

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
