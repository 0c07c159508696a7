/** An operator's image under two tags: as installed, and as upgraded to. */
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { buildImage, type readProject } from "@keelson/cli";
import { Images, loadImages, parseImageReference } from "@keelson/images";
import { privateCache } from "@keelson/machine";
import { compilePackages, root } from "../../scripts/run.ts";

const base = "node:24";

/** Builds the image once and puts it into the store under both names. An image of the same code is used again. */
export async function makeOperatorImages(
  project: ReturnType<typeof readProject>,
  [first, second]: readonly [string, string],
  say: (sentence: string) => void,
): Promise<void> {
  compilePackages();
  const folder = relative(root, project.directory);
  const record = join(privateCache(), "e2e-images", folder.replaceAll("/", "-"));
  const { store } = new Images();
  const digestOf = async () => (await store.list()).find(({ name }) => name.endsWith(first))?.digest;
  const code = codeOf(folder);
  const made = (await readFile(record, "utf8").catch(() => "")).trim();
  if (made === `${code} ${await digestOf()}`) return;
  await loadImage(project, first, say);
  const digest = await digestOf();
  if (digest === undefined) throw new Error(`${first} is not in the store`);
  await store.name(parseImageReference(second), { digest, size: 0 }, "store");
  await mkdir(join(record, ".."), { recursive: true });
  await writeFile(record, `${code} ${digest}\n`);
}

async function loadImage(
  project: ReturnType<typeof readProject>,
  image: string,
  say: (sentence: string) => void,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "keelson-e2e-image-"));
  try {
    const { archive } = await buildImage(project, { image, base, onProgress: say });
    const path = join(directory, "image.tar");
    await writeFile(path, archive);
    await loadImages(path);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Digest of all that an image is made from. */
function codeOf(folder: string): string {
  const hash = createHash("sha256").update(base);
  const patterns = [
    "packages/*/dist/**/*.js",
    "packages/*/package.json",
    `${folder}/{src/**/*.ts,package.json}`,
  ];
  for (const path of globSync([...patterns, "package-lock.json"], { cwd: root }).sort())
    hash.update(`${path}\0`).update(readFileSync(join(root, path)));
  return hash.digest("hex");
}
