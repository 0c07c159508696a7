/** Another name for an image that is on this machine: a manifest's tag, served by what is here. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  formatImageReference,
  type ImageStore,
  Images,
  loadImages,
  parseImageReference,
  type ResolvedImage,
} from "@keelson/images";
import { CliError } from "../errors.ts";
import { layerOf } from "./base-layer.ts";
import { ociArchive } from "./oci.ts";

/** The digest of an image that was built, loaded or pulled. */
export async function storedDigest(store: ImageStore, image: string): Promise<string> {
  const name = formatImageReference(parseImageReference(image));
  const stored = (await store.list()).find((each) => each.name === name);
  if (stored !== undefined) return stored.digest;
  throw new CliError("NoImage", `${name} is not in the image store; see keelson image list`);
}

/** Names the image too. One that this machine makes by itself is put into the store for it. */
export async function tagImage(
  image: string,
  name: string,
  onProgress: (sentence: string) => void,
): Promise<{ name: string; digest: string }> {
  const target = parseImageReference(name);
  if (target.digest !== "") throw new CliError("NoImage", `${name} names a digest, which is an image's own`);
  const images = new Images({ onProgress });
  const found = await images.find(image);
  if (found === undefined) {
    throw new CliError("NoImage", `${image} is not on this machine; see keelson image list`);
  }
  const { store } = images;
  if (found.origin === "store" || found.origin === "registry") {
    const digest = found.repoDigest.slice(found.repoDigest.indexOf("@") + 1);
    await store.name(target, { digest, size: 0 }, "store");
    return { name: formatImageReference(target), digest };
  }
  const digest = await storeMade(found, formatImageReference(target), onProgress);
  return { name: formatImageReference(target), digest };
}

async function storeMade(
  { config, rootfs }: ResolvedImage,
  name: string,
  onProgress: (sentence: string) => void,
): Promise<string> {
  onProgress(`packing ${name}`);
  const { archive, digest } = ociArchive({
    name,
    layers: [layerOf(rootfs)],
    architecture: process.arch === "x64" ? "amd64" : process.arch,
    config: {
      Entrypoint: config.entrypoint,
      Cmd: config.cmd,
      Env: config.env,
      WorkingDir: config.workingDir,
      User: config.user,
      Labels: config.labels,
    },
  });
  const directory = await mkdtemp(join(tmpdir(), "keelson-tag-"));
  try {
    await writeFile(join(directory, "image.tar"), archive);
    await loadImages(join(directory, "image.tar"), { onProgress });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  return digest;
}
