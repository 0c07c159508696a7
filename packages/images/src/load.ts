/** `keelson image load`: OCI layouts and `docker save` archives, packed or as directories. */
import { createReadStream, existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseJson } from "@keelson/core";
import { cacheDirectory } from "@keelson/machine";
import { decompressed } from "./decompress.ts";
import { ImageError } from "./errors.ts";
import { ImageStore, type ImageStoreOptions } from "./image-store.ts";
import { applyLayer } from "./layer.ts";
import {
  choosePlatform,
  type Descriptor,
  type DockerArchiveEntry,
  type ImageIndex,
  type ImageManifest,
  isIndex,
  mediaType,
} from "./oci.ts";
import { formatImageReference, parseImageReference } from "./reference.ts";

export interface LoadOptions extends ImageStoreOptions {
  /** For an archive with one image that does not say its name, or to give it another. */
  readonly name?: string;
}

export interface LoadedImage {
  readonly name: string;
  readonly digest: string;
}

/** Loads every image of an archive or layout and returns their names. */
export async function loadImages(path: string, options: LoadOptions = {}): Promise<LoadedImage[]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw new ImageError("BadArchive", `${path} does not exist`);
  if (found.isDirectory()) return await loadDirectory(path, path, options);
  const cache = join(cacheDirectory(options.env ?? process.env), "images");
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, ".loading-"));
  try {
    options.onProgress?.(`reading ${path} (${(found.size / 1e6).toFixed(1)} MB)`);
    await applyLayer(work, await decompressed(createReadStream(path)), { owners: false });
    return await loadDirectory(work, path, options);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function loadDirectory(
  directory: string,
  source: string,
  options: LoadOptions,
): Promise<LoadedImage[]> {
  const store = new ImageStore(options);
  // Newer docker writes both forms; its own names the images more reliably.
  if (existsSync(join(directory, "manifest.json")))
    return await loadDocker(directory, source, store, options);
  if (existsSync(join(directory, "index.json"))) return await loadLayout(directory, source, store, options);
  throw new ImageError(
    "BadArchive",
    `${source} is neither an OCI layout nor a docker archive: it has no index.json and no manifest.json`,
  );
}

async function loadDocker(
  directory: string,
  source: string,
  store: ImageStore,
  options: LoadOptions,
): Promise<LoadedImage[]> {
  const entries = parseJson(
    await readFile(join(directory, "manifest.json"), "utf8"),
  ) as unknown as DockerArchiveEntry[];
  const loaded: LoadedImage[] = [];
  for (const { Config, RepoTags, Layers } of entries) {
    const put = async (name: string, type: string): Promise<Descriptor> => ({
      mediaType: type,
      ...(await store.putBlob(createReadStream(join(directory, name)))),
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
    loaded.push(...(await nameAll(store, manifest, RepoTags ?? [], source, options, entries.length)));
  }
  return loaded;
}

async function loadLayout(
  directory: string,
  source: string,
  store: ImageStore,
  options: LoadOptions,
): Promise<LoadedImage[]> {
  const blob = (digest: string) => join(directory, "blobs", ...digest.split(":"));
  const document = async <T>(digest: string) => parseJson(await readFile(blob(digest), "utf8")) as T;
  const index = parseJson(await readFile(join(directory, "index.json"), "utf8")) as unknown as ImageIndex;
  const loaded: LoadedImage[] = [];
  for (const entry of index.manifests) {
    let descriptor: Descriptor | undefined = entry;
    let manifest = await document<ImageIndex | ImageManifest>(entry.digest);
    if (isIndex(manifest)) {
      descriptor = choosePlatform(manifest);
      if (descriptor === undefined) {
        throw new ImageError(
          "BadArchive",
          `${source} has no image for this machine's processor (${process.arch})`,
        );
      }
      manifest = await document<ImageManifest>(descriptor.digest);
    }
    for (const { digest } of [manifest.config, ...manifest.layers]) {
      if (!store.hasBlob(digest)) await store.putBlob(createReadStream(blob(digest)), digest);
    }
    const kept = await store.putBlob(createReadStream(blob(descriptor.digest)), descriptor.digest);
    const { annotations = {} } = entry;
    const name = annotations["io.containerd.image.name"] ?? annotations["org.opencontainers.image.ref.name"];
    loaded.push(
      ...(await nameAll(
        store,
        kept,
        name === undefined ? [] : [name],
        source,
        options,
        index.manifests.length,
      )),
    );
  }
  return loaded;
}

async function nameAll(
  store: ImageStore,
  manifest: { digest: string; size: number },
  names: readonly string[],
  source: string,
  options: LoadOptions,
  images: number,
): Promise<LoadedImage[]> {
  const chosen = options.name !== undefined && images === 1 ? [options.name] : names;
  if (chosen.length === 0) {
    throw new ImageError(
      "InvalidReference",
      `${source} does not say what its image is called: give it a name with --name`,
    );
  }
  return await Promise.all(
    chosen.map(async (name) => {
      const reference = parseImageReference(name);
      await store.name(reference, manifest, "store");
      return { name: formatImageReference(reference), digest: manifest.digest };
    }),
  );
}
