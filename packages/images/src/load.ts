/** `keelson image load`: OCI layouts and `docker save` archives, packed or as directories. */
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { privateCache } from "@keelson/machine";
import { decompressed } from "./decompress.ts";
import { ImageError } from "./errors.ts";
import { archiveFiles, directoryFiles, type ImageFiles } from "./image-files.ts";
import { ImageStore, type ImageStoreOptions } from "./image-store.ts";
import {
  choosePlatform,
  type Descriptor,
  isIndex,
  mediaType,
  readDockerArchive,
  readManifest,
} from "./oci.ts";
import { formatImageReference, parseImageReference } from "./reference.ts";

/** How images are loaded from an archive. */
export interface LoadOptions extends ImageStoreOptions {
  /** For an archive with one image that does not say its name, or to give it another. */
  readonly name?: string;
}

/** An image that was loaded from an archive. */
export interface LoadedImage {
  readonly name: string;
  readonly digest: string;
}

/** Loads every image of an archive or layout and returns their names. */
export async function loadImages(path: string, options: LoadOptions = {}): Promise<LoadedImage[]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw new ImageError("BadArchive", `${path} does not exist`);
  try {
    if (found.isDirectory()) return await loadFiles(await directoryFiles(path), options);
    options.onProgress?.(`reading ${path} (${(found.size / 1e6).toFixed(1)} MB)`);
    return await loadArchive(path, options);
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    throw new ImageError(error.code, `${path} cannot be loaded: ${error.message}`, { cause: error });
  }
}

async function loadArchive(path: string, options: LoadOptions): Promise<LoadedImage[]> {
  const cache = join(privateCache(options.env ?? process.env), "images");
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, ".loading-"));
  try {
    const files = await archiveFiles(decompressed(createReadStream(path)), work);
    return await loadFiles(files, options);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function loadFiles(files: ImageFiles, options: LoadOptions): Promise<LoadedImage[]> {
  const store = new ImageStore(options);
  // Newer docker writes both forms; its own names the images more reliably.
  if (await files.has("manifest.json")) return await loadDocker(files, store, options);
  if (await files.has("index.json")) return await loadLayout(files, store, options);
  throw new ImageError(
    "BadArchive",
    "it is neither an OCI layout nor a docker archive: it has no index.json and no manifest.json",
  );
}

async function loadDocker(
  files: ImageFiles,
  store: ImageStore,
  options: LoadOptions,
): Promise<LoadedImage[]> {
  const entries = readDockerArchive(await files.text("manifest.json"));
  const loaded: LoadedImage[] = [];
  for (const { Config, RepoTags, Layers } of entries) {
    const put = async (name: string, type: string): Promise<Descriptor> => ({
      mediaType: type,
      ...(await store.putBlob(await files.stream(name))),
    });
    const config = await put(Config, mediaType.config);
    const layers: Descriptor[] = [];
    for (const layer of Layers) layers.push(await put(layer, mediaType.layer));
    const manifest = await store.putDocument({
      schemaVersion: 2,
      mediaType: mediaType.manifest,
      config,
      layers,
    });
    loaded.push(...(await nameAll(store, manifest, RepoTags, options, entries.length)));
  }
  return loaded;
}

async function loadLayout(
  files: ImageFiles,
  store: ImageStore,
  options: LoadOptions,
): Promise<LoadedImage[]> {
  const blob = (digest: string) => `blobs/${digest.replace(":", "/")}`;
  const document = async (digest: string) => readManifest(await files.text(blob(digest)), digest);
  const index = readManifest(await files.text("index.json"), "index.json");
  if (!isIndex(index)) throw new ImageError("BadArchive", "index.json is malformed: it lists no manifests");
  const loaded: LoadedImage[] = [];
  for (const entry of index.manifests) {
    let descriptor: Descriptor | undefined = entry;
    let manifest = await document(entry.digest);
    if (isIndex(manifest)) {
      descriptor = choosePlatform(manifest);
      if (descriptor === undefined) {
        throw new ImageError("BadArchive", `it has no image for this machine's processor (${process.arch})`);
      }
      manifest = await document(descriptor.digest);
      if (isIndex(manifest))
        throw new ImageError("BadArchive", `${descriptor.digest} is no image but an index`);
    }
    for (const { digest } of [manifest.config, ...manifest.layers]) {
      if (!store.hasBlob(digest)) await store.putBlob(await files.stream(blob(digest)), digest);
    }
    const kept = await store.putBlob(await files.stream(blob(descriptor.digest)), descriptor.digest);
    const { annotations = {} } = entry;
    const name = annotations["io.containerd.image.name"] ?? annotations["org.opencontainers.image.ref.name"];
    loaded.push(
      ...(await nameAll(store, kept, name === undefined ? [] : [name], options, index.manifests.length)),
    );
  }
  return loaded;
}

async function nameAll(
  store: ImageStore,
  manifest: { digest: string; size: number },
  names: readonly string[],
  options: LoadOptions,
  images: number,
): Promise<LoadedImage[]> {
  const chosen = options.name !== undefined && images === 1 ? [options.name] : names;
  if (chosen.length === 0) {
    throw new ImageError(
      "InvalidReference",
      "it does not say what its image is called: give it a name with --name",
    );
  }
  const references = chosen.map(parseImageReference);
  // An image that is not what it says gets no name.
  await store.unpack(manifest.digest, chosen.join(", "));
  return await Promise.all(
    references.map(async (reference) => {
      await store.name(reference, manifest, "store");
      return { name: formatImageReference(reference), digest: manifest.digest };
    }),
  );
}
