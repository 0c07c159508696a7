/** The images that were loaded or pulled: an OCI layout in the cache, and root file systems unpacked from it. */
import { createHash, randomUUID } from "node:crypto";
import { createReadStream, existsSync, mkdirSync, utimesSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  cacheDirectory,
  type Environment,
  makeOnce,
  privateCache,
  removeTree,
  withLock,
} from "@keelson/machine";
import { decompressed } from "./decompress.ts";
import { ImageError } from "./errors.ts";
import type { ImageConfig, ResolvedImage } from "./image.ts";
import { applyLayers } from "./layer.ts";
import {
  type Descriptor,
  digestPattern,
  type ImageManifest,
  isIndex,
  mediaType,
  readConfig,
  readManifest,
} from "./oci.ts";
import {
  formatImageReference,
  type ImageReference,
  parseImageReference,
  repositoryName,
} from "./reference.ts";
import { rootsInUse } from "./roots-in-use.ts";

const nameAnnotation = "io.containerd.image.name";
const largestDocument = 8 * 1024 * 1024;
/** Root file systems, by the digests of their configurations. */
const rootsDirectory = "roots";
const blobsDirectory = join("blobs", "sha256");
const originAnnotation = "dev.keelson.image.origin";
/** The digest of the index that the image is one of, which stays with it. */
const indexAnnotation = "dev.keelson.image.index";
/** Begins the name of what is being removed. */
const removed = ".removed-";
/** Of what no name needs, that which was wanted so lately stays: another process may be about to name or to mount it. */
const unneededMs = 3_600_000;

/** One entry of the image store. */
export interface StoredImage {
  /** In full form. */
  readonly name: string;
  /** Of the manifest. */
  readonly digest: string;
  readonly sizeBytes: number;
}

/** What was removed from an image store. */
export interface Pruned {
  /** Unpacked images. */
  readonly roots: number;
  readonly blobs: number;
}

/** Where an image store keeps its images. Default: below the cache directory. */
export interface ImageStoreOptions {
  readonly env?: Environment;
  readonly onProgress?: (sentence: string) => void;
}

/** Images that were loaded or pulled: blobs and unpacked root file systems in the cache. */
export class ImageStore {
  readonly #env: Environment;
  readonly #home: string;
  readonly #onProgress: ((sentence: string) => void) | undefined;

  constructor(options: ImageStoreOptions = {}) {
    this.#env = options.env ?? process.env;
    this.#home = join(cacheDirectory(this.#env), "images", "store");
    this.#onProgress = options.onProgress;
  }

  blobPath(digest: string): string {
    if (!digestPattern.test(digest)) {
      throw new ImageError("BadArchive", `${JSON.stringify(digest)} is no digest that we know`);
    }
    return join(this.#home, blobsDirectory, digest.slice("sha256:".length));
  }

  #open(): void {
    privateCache(this.#env);
    mkdirSync(this.#home, { recursive: true });
  }

  /** Whether it is here. If so it stays for an hour, so that an image with it can be named. */
  hasBlob(digest: string): boolean {
    return touched(this.blobPath(digest));
  }

  /** Takes in a blob and returns its digest; throws when it is not the one, or longer than, what was promised. */
  async putBlob(
    content: AsyncIterable<Uint8Array>,
    expected?: string,
    mostBytes = Number.POSITIVE_INFINITY,
  ): Promise<{ digest: string; size: number }> {
    this.#open();
    await mkdir(join(this.#home, blobsDirectory), { recursive: true });
    const work = await mkdtemp(join(this.#home, ".incoming-"));
    try {
      const hash = createHash("sha256");
      let size = 0;
      const counted = async function* () {
        for await (const chunk of content) {
          hash.update(chunk);
          size += chunk.length;
          if (size > mostBytes)
            throw new ImageError("BadArchive", `a blob is longer than the ${mostBytes} bytes promised`);
          yield chunk;
        }
      };
      await writeFile(join(work, "blob"), counted());
      const digest = `sha256:${hash.digest("hex")}`;
      if (expected !== undefined && expected !== digest) {
        throw new ImageError(
          "BadArchive",
          `a blob is ${digest}, not ${expected} as promised: the source is damaged`,
        );
      }
      await rename(join(work, "blob"), this.blobPath(digest));
      return { digest, size };
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }

  async putDocument(document: unknown): Promise<{ digest: string; size: number }> {
    return await this.putBlob(chunks(JSON.stringify(document)));
  }

  /** The manifest of an image. */
  async manifest(digest: string): Promise<ImageManifest> {
    const manifest = readManifest(await this.#document(digest), digest);
    if (isIndex(manifest)) throw new ImageError("BadArchive", `${digest} is no image but an index`);
    return manifest;
  }

  /** Checked against its digest: whatever can write to the cache must not choose what a name means. */
  async #document(digest: string): Promise<string> {
    const path = this.blobPath(digest);
    const { size } = await stat(path);
    if (size > largestDocument) throw new ImageError("BadArchive", `${digest} is too large: ${size} bytes`);
    const bytes = await readFile(path);
    if (digestOf(bytes) !== digest) throw damaged(digest);
    return bytes.toString("utf8");
  }

  /** Gives a manifest in the store a name, and keeps the index that it is one of; an older image of that name loses it. */
  async name(
    reference: ImageReference,
    manifest: { digest: string; size: number },
    origin: "store" | "registry",
    partOf?: string,
  ): Promise<void> {
    const name = formatImageReference({ ...reference, digest: "" });
    await this.#change((index) => [
      ...index.filter(({ annotations }) => annotations?.[nameAnnotation] !== name),
      {
        mediaType: mediaType.manifest,
        ...manifest,
        annotations: {
          [nameAnnotation]: name,
          [originAnnotation]: origin,
          ...(partOf !== undefined && { [indexAnnotation]: partOf }),
        },
      },
    ]);
    await this.#tidy();
  }

  async list(): Promise<StoredImage[]> {
    const all = (await this.#index()).map(async ({ digest, annotations }): Promise<StoredImage[]> => {
      try {
        const { config, layers } = await this.manifest(digest);
        const sizes = await Promise.all([config, ...layers].map((one) => stat(this.blobPath(one.digest))));
        const sizeBytes = sizes.reduce((sum, { size }) => sum + size, 0);
        return [{ name: annotations?.[nameAnnotation] ?? "", digest, sizeBytes }];
      } catch {
        // Damaged: who asks for it is told.
        return [];
      }
    });
    return (await Promise.all(all)).flat();
  }

  /** Takes a name away; what no name needs any more goes an hour later. False when there is no such image. */
  async remove(reference: ImageReference): Promise<boolean> {
    const name = formatImageReference(reference);
    let found = false;
    await this.#change((index) => {
      const kept = index.filter(({ annotations }) => annotations?.[nameAnnotation] !== name);
      found = kept.length < index.length;
      return kept;
    });
    if (found) await this.#tidy();
    return found;
  }

  /**
   * Removes what no name needs, no pod stands on and nobody wanted for an hour. Naming an image does it too: otherwise
   * everyone who builds an operator again and again would fill the disk.
   */
  async prune(): Promise<Pruned> {
    this.#open();
    const pruned = { roots: 0, blobs: 0 };
    await withLock(join(this.#home, ".index.lock"), async () => {
      const needed = await this.#needed();
      if (needed === undefined) return;
      const roots = await this.#unwanted(rootsDirectory, needed);
      const used = roots.length === 0 ? new Set<string>() : await rootsInUse();
      for (const hex of roots) {
        if (used.has(hex)) continue;
        const path = join(this.#home, rootsDirectory, hex);
        await rename(path, join(this.#home, rootsDirectory, `${removed}${randomUUID()}`));
        pruned.roots++;
      }
      for (const hex of await this.#unwanted(blobsDirectory, needed)) {
        await rm(join(this.#home, blobsDirectory, hex), { force: true });
        pruned.blobs++;
      }
    });
    // Many files: others need not wait for them. What a process left that died here goes now.
    const left = await readdir(join(this.#home, rootsDirectory)).catch(() => []);
    for (const name of left)
      if (name.startsWith(removed)) await removeTree(join(this.#home, rootsDirectory, name));
    return pruned;
  }

  /** The image has its name, or has lost it: what cannot be removed does not change that. */
  async #tidy(): Promise<void> {
    try {
      await this.prune();
    } catch (error) {
      this.#onProgress?.(`the image store could not be cleaned up: ${(error as Error).message}`);
    }
  }

  /** Undefined when an image cannot be read, since it may need anything. */
  async #needed(): Promise<ReadonlySet<string> | undefined> {
    const needed = new Set<string>();
    try {
      for (const { digest, annotations } of await this.#index()) {
        const index = annotations?.[indexAnnotation];
        const images = index === undefined ? [digest] : [digest, ...(await this.#imagesOf(index))];
        if (index !== undefined) needed.add(index);
        for (const image of images) {
          const { config, layers } = await this.manifest(image);
          for (const one of [image, config.digest, ...layers.map((layer) => layer.digest)]) needed.add(one);
        }
      }
    } catch {
      return undefined;
    }
    return needed;
  }

  /** Those of its platforms that are here. */
  async #imagesOf(index: string): Promise<string[]> {
    const document = readManifest(await this.#document(index), index);
    const digests = isIndex(document) ? document.manifests.map(({ digest }) => digest) : [];
    return digests.filter((digest) => existsSync(this.blobPath(digest)));
  }

  /** Their names are digests without "sha256:". */
  async #unwanted(directory: string, needed: ReadonlySet<string>): Promise<string[]> {
    const unwanted: string[] = [];
    const since = Date.now() - unneededMs;
    for (const hex of await readdir(join(this.#home, directory)).catch(() => [])) {
      if (needed.has(`sha256:${hex}`) || hex.startsWith(".")) continue;
      const found = await stat(join(this.#home, directory, hex)).catch(() => undefined);
      if (found !== undefined && found.mtimeMs < since) unwanted.push(hex);
    }
    return unwanted;
  }

  /** The image by name or digest, unpacked; undefined when it is not here. */
  async find(reference: ImageReference): Promise<ResolvedImage | undefined> {
    const name = formatImageReference({ ...reference, digest: "" });
    const entry = (await this.#index()).find(({ digest, annotations }) => {
      const own = annotations?.[nameAnnotation] ?? "";
      if (reference.digest === "") return own === name;
      return (
        digest === reference.digest && repositoryName(parseImageReference(own)) === repositoryName(reference)
      );
    });
    return entry === undefined ? undefined : await this.#resolve(reference, entry);
  }

  async #resolve(reference: ImageReference, entry: Descriptor): Promise<ResolvedImage> {
    const { rootfs, config, manifest } = await this.unpack(entry.digest, formatImageReference(reference));
    const repository = repositoryName(reference);
    const sizes = await Promise.all(manifest.layers.map((layer) => stat(this.blobPath(layer.digest))));
    return {
      reference: formatImageReference(reference),
      id: manifest.config.digest,
      repoDigest: `${repository}@${entry.digest}`,
      names: [entry.annotations?.[nameAnnotation] ?? "", `${repository}@${entry.digest}`],
      rootfs,
      config,
      origin: entry.annotations?.[originAnnotation] === "registry" ? "registry" : "store",
      sizeBytes: sizes.reduce((sum, { size }) => sum + size, 0),
    };
  }

  /**
   * Makes the root file system of an image whose blobs are all here. Every blob is checked against its digest and every
   * layer against the one in the configuration, so that the configuration's digest stands for the root's contents.
   */
  async unpack(
    digest: string,
    name: string,
  ): Promise<{ rootfs: string; config: ImageConfig; manifest: ImageManifest }> {
    const manifest = await this.manifest(digest);
    const { config, diffIds } = readConfig(
      await this.#document(manifest.config.digest),
      manifest.config.digest,
    );
    if (diffIds.length !== manifest.layers.length) {
      throw new ImageError(
        "BadArchive",
        `${name} has ${manifest.layers.length} layers, and its configuration speaks of ${diffIds.length}`,
      );
    }
    const home = join(this.#home, rootsDirectory, manifest.config.digest.slice("sha256:".length));
    await makeOnce(home, async (directory) => {
      this.#onProgress?.(`unpacking ${name} (${manifest.layers.length} layers)`);
      await mkdir(join(directory, "rootfs"));
      await applyLayers(
        join(directory, "rootfs"),
        manifest.layers.map((layer, index) => this.#layer(layer.digest, diffIds[index] ?? "")),
      );
    });
    const now = new Date();
    await utimes(home, now, now);
    return { rootfs: join(home, "rootfs"), config, manifest };
  }

  /** Unpacked. Throws at its end when it is not the layer that it is called. */
  async *#layer(digest: string, diffId: string): AsyncGenerator<Uint8Array> {
    const packed = hashed(createReadStream(this.blobPath(digest)));
    const unpacked = hashed(decompressed(packed.chunks));
    yield* unpacked.chunks;
    for await (const _ of packed.chunks);
    if (packed.digest() !== digest) throw damaged(digest);
    if (unpacked.digest() !== diffId) {
      throw new ImageError(
        "BadArchive",
        `layer ${digest} is not ${diffId}, which the configuration speaks of`,
      );
    }
  }

  async #index(): Promise<readonly Descriptor[]> {
    const text = await readFile(join(this.#home, "index.json"), "utf8").catch(() => undefined);
    const index = text === undefined ? { manifests: [] } : readManifest(text, "index.json");
    return isIndex(index) ? index.manifests : [];
  }

  async #change(edit: (manifests: readonly Descriptor[]) => readonly Descriptor[]): Promise<void> {
    this.#open();
    await withLock(join(this.#home, ".index.lock"), async () => {
      const manifests = edit(await this.#index());
      const path = join(this.#home, "index.json");
      await writeFile(join(this.#home, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
      await writeFile(
        `${path}.new`,
        JSON.stringify({ schemaVersion: 2, mediaType: mediaType.index, manifests }),
      );
      await rename(`${path}.new`, path);
    });
  }
}

async function* chunks(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** Marks a file as wanted now; false when there is none. */
function touched(path: string): boolean {
  const now = new Date();
  try {
    utimesSync(path, now, now);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

/** The same bytes, and what they are once they have been read to their end. */
function hashed(source: AsyncIterable<Uint8Array>): {
  chunks: AsyncGenerator<Uint8Array>;
  digest: () => string;
} {
  const hash = createHash("sha256");
  const chunks = async function* () {
    for await (const chunk of source) {
      hash.update(chunk);
      yield chunk;
    }
  };
  return { chunks: chunks(), digest: () => `sha256:${hash.digest("hex")}` };
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function damaged(digest: string): ImageError {
  return new ImageError(
    "BadArchive",
    `${digest} in the image store is damaged: load or pull the image again`,
  );
}
