/** The images that were loaded or pulled: an OCI layout in the cache, and root file systems unpacked from it. */
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseJson } from "@keelson/core";
import { cacheDirectory, type Environment, makeOnce, withLock } from "@keelson/machine";
import { decompressed } from "./decompress.ts";
import { ImageError } from "./errors.ts";
import type { ResolvedImage } from "./image.ts";
import { applyLayer } from "./layer.ts";
import { type Descriptor, type ImageIndex, type ImageManifest, mediaType, parseConfig } from "./oci.ts";
import {
  formatImageReference,
  type ImageReference,
  parseImageReference,
  repositoryName,
} from "./reference.ts";

const nameAnnotation = "io.containerd.image.name";
const originAnnotation = "dev.keelson.image.origin";

export interface StoredImage {
  /** In full form. */
  readonly name: string;
  /** Of the manifest. */
  readonly digest: string;
  readonly sizeBytes: number;
}

export interface ImageStoreOptions {
  readonly env?: Environment;
  readonly onProgress?: (sentence: string) => void;
}

export class ImageStore {
  readonly #home: string;
  readonly #onProgress: ((sentence: string) => void) | undefined;

  constructor(options: ImageStoreOptions = {}) {
    this.#home = join(cacheDirectory(options.env ?? process.env), "images", "store");
    this.#onProgress = options.onProgress;
  }

  blobPath(digest: string): string {
    const [algorithm = "", hex = ""] = digest.split(":");
    if (algorithm !== "sha256" || !/^[0-9a-f]{64}$/.test(hex)) {
      throw new ImageError("BadArchive", `${JSON.stringify(digest)} is no digest that we know`);
    }
    return join(this.#home, "blobs", "sha256", hex);
  }

  hasBlob(digest: string): boolean {
    return existsSync(this.blobPath(digest));
  }

  /** Takes in a blob and returns its digest; throws when it is not the one that was promised. */
  async putBlob(
    content: AsyncIterable<Uint8Array>,
    expected?: string,
  ): Promise<{ digest: string; size: number }> {
    const directory = join(this.#home, "blobs", "sha256");
    await mkdir(directory, { recursive: true });
    const work = await mkdtemp(join(this.#home, ".incoming-"));
    try {
      const hash = createHash("sha256");
      let size = 0;
      const counted = async function* () {
        for await (const chunk of content) {
          hash.update(chunk);
          size += chunk.length;
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

  async readDocument<T>(digest: string): Promise<T> {
    return parseJson(await readFile(this.blobPath(digest), "utf8")) as T;
  }

  /** Gives a manifest in the store a name; an older image of that name loses it. */
  async name(
    reference: ImageReference,
    manifest: { digest: string; size: number },
    origin: "store" | "registry",
  ): Promise<void> {
    const name = formatImageReference({ ...reference, digest: "" });
    await this.#change((index) => [
      ...index.filter(({ annotations }) => annotations?.[nameAnnotation] !== name),
      {
        mediaType: mediaType.manifest,
        ...manifest,
        annotations: { [nameAnnotation]: name, [originAnnotation]: origin },
      },
    ]);
  }

  async list(): Promise<StoredImage[]> {
    const index = await this.#index();
    return await Promise.all(
      index.map(async ({ digest, annotations }) => {
        const { config, layers } = await this.readDocument<ImageManifest>(digest);
        const sizes = await Promise.all([config, ...layers].map((one) => stat(this.blobPath(one.digest))));
        return {
          name: annotations?.[nameAnnotation] ?? "",
          digest,
          sizeBytes: sizes.reduce((sum, { size }) => sum + size, 0),
        };
      }),
    );
  }

  /** Takes a name away; what no name needs any more is removed. False when there is no such image. */
  async remove(reference: ImageReference): Promise<boolean> {
    const name = formatImageReference(reference);
    let found = false;
    await this.#change((index) => {
      const kept = index.filter(({ annotations }) => annotations?.[nameAnnotation] !== name);
      found = kept.length < index.length;
      return kept;
    });
    if (found) await this.#collect();
    return found;
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
    const manifest = await this.readDocument<ImageManifest>(entry.digest);
    const rootfs = await this.#unpack(manifest, formatImageReference(reference));
    const repository = repositoryName(reference);
    const sizes = await Promise.all(manifest.layers.map((layer) => stat(this.blobPath(layer.digest))));
    return {
      reference: formatImageReference(reference),
      id: manifest.config.digest,
      repoDigest: `${repository}@${entry.digest}`,
      names: [entry.annotations?.[nameAnnotation] ?? "", `${repository}@${entry.digest}`],
      rootfs,
      config: parseConfig(await readFile(this.blobPath(manifest.config.digest), "utf8")),
      origin: entry.annotations?.[originAnnotation] === "registry" ? "registry" : "store",
      sizeBytes: sizes.reduce((sum, { size }) => sum + size, 0),
    };
  }

  async #unpack(manifest: ImageManifest, name: string): Promise<string> {
    const home = join(this.#home, "rootfs", manifest.config.digest.slice("sha256:".length));
    await makeOnce(home, async (directory) => {
      this.#onProgress?.(`unpacking ${name} (${manifest.layers.length} layers)`);
      await mkdir(join(directory, "rootfs"));
      for (const { digest } of manifest.layers) {
        await applyLayer(
          join(directory, "rootfs"),
          await decompressed(createReadStream(this.blobPath(digest))),
        );
      }
    });
    return join(home, "rootfs");
  }

  async #index(): Promise<readonly Descriptor[]> {
    const text = await readFile(join(this.#home, "index.json"), "utf8").catch(() => undefined);
    return text === undefined ? [] : (parseJson(text) as unknown as ImageIndex).manifests;
  }

  async #change(edit: (manifests: readonly Descriptor[]) => readonly Descriptor[]): Promise<void> {
    await mkdir(this.#home, { recursive: true });
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

  async #collect(): Promise<void> {
    const needed = new Set<string>();
    const roots = new Set<string>();
    for (const { digest } of await this.#index()) {
      const { config, layers } = await this.readDocument<ImageManifest>(digest);
      for (const one of [digest, config.digest, ...layers.map((layer) => layer.digest)])
        needed.add(one.slice(7));
      roots.add(config.digest.slice(7));
    }
    for (const [directory, kept] of [
      [join(this.#home, "blobs", "sha256"), needed],
      [join(this.#home, "rootfs"), roots],
    ] as const) {
      for (const name of await readdir(directory).catch(() => [])) {
        if (!kept.has(name) && !name.startsWith("."))
          await rm(join(directory, name), { recursive: true, force: true });
      }
    }
  }
}

async function* chunks(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
