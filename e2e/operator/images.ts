/** An operator's image under two tags: as installed, and as upgraded to. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildImage, type readProject } from "@keelson/cli";
import { Images, loadImages, parseImageReference } from "@keelson/images";

/** Builds the image once and puts it into the store under both names. */
export async function makeOperatorImages(
  project: ReturnType<typeof readProject>,
  [first, second]: readonly [string, string],
  say: (sentence: string) => void,
): Promise<void> {
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
